import type { Message } from "@bufbuild/protobuf";

/** Messages that are one message when they are merged. Each holds one entry or more of the same list, and no more. */
export type Parts<M extends Message = Message> = AsyncIterable<M>;

/**
 * A response that an implementation can give in forms that are sent sooner than a whole message. It is made whole
 * before a Connect interceptor sees it.
 */
export class PreparedMessage<M extends Message = Message> {
  /** Makes the whole message. */
  readonly whole: () => Promise<M>;
  /** Makes the message in parts, for a list that is too long to be read, held and written at once. */
  readonly parts: (() => Parts<M>) | undefined;
  /** Gives the message in the protobuf wire format. Its bytes must not be changed. */
  readonly binary: (() => Uint8Array) | undefined;
  /** The message as the body of an answer over REST. Its bytes must not be changed. */
  readonly restBody: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** The fields that are known before the message is made. Over REST, headers carry some of them. */
  readonly fields: Partial<M>;

  constructor(forms: Pick<PreparedMessage<M>, "whole"> & Partial<PreparedMessage<M>>) {
    this.whole = forms.whole;
    this.parts = forms.parts;
    this.binary = forms.binary;
    this.restBody = forms.restBody;
    this.fields = forms.fields ?? {};
  }
}

/** Writes each part. */
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

/**
 * Messages of a stream that are sent together. Several streams may share a group: its bytes are then made once for each
 * encoding. It is taken apart before a Connect interceptor sees it.
 */
export class MessageGroup<M extends Message = Message> {
  readonly messages: readonly M[];
  readonly #encodings = new Map<object, Uint8Array>();

  constructor(messages: readonly M[]) {
    this.messages = messages;
  }

  /** The messages, one after the other. `format` stands for the encoding: `encode` must be the same for the same one. */
  encoded(format: object, encode: (message: M) => Uint8Array): Uint8Array {
    const known = this.#encodings.get(format);
    if (known !== undefined) {
      return known;
    }
    const made = Buffer.concat(this.messages.map(encode));
    this.#encodings.set(format, made);
    return made;
  }
}

/** The bytes of what a stream sends at once. */
export function encodeItem(
  item: Message | MessageGroup,
  format: object,
  encode: (message: Message) => Uint8Array,
): Uint8Array {
  return item instanceof MessageGroup ? item.encoded(format, encode) : encode(item);
}
