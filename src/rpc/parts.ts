import type { Message } from "@bufbuild/protobuf";

/** Messages that are one message when they are merged. */
export type Parts<M extends Message = Message> = AsyncIterable<M>;

const partsOfMessages = new WeakMap<Message, Parts>();

/**
 * Gives an empty message the parts that it is made of, for a list that is too long to be read, held and written at
 * once. Each part holds entries of the same list, one at least, and nothing else.
 */
export function withParts<M extends Message>(message: M, parts: Parts<M>): M {
  partsOfMessages.set(message, parts);
  return message;
}

/** The parts that a message is made of; undefined when it is whole. */
export function partsOf(message: Message): Parts | undefined {
  return partsOfMessages.get(message);
}

/** Has each part written. */
export async function* writeParts<T>(parts: Parts, write: (part: Message) => T): AsyncGenerator<T> {
  for await (const part of parts) {
    yield write(part);
  }
}

/**
 * Joins the JSON of parts to that of the message: one list of all that stands between the outermost brackets of each.
 */
export async function* joinJson(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let end = "";
  for await (const text of texts) {
    const close = text.lastIndexOf("]");
    yield end === "" ? text.slice(0, close) : `,${text.slice(text.indexOf("[") + 1, close)}`;
    end = text.slice(close);
  }
  yield end;
}
