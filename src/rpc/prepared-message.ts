import type { Message } from "@bufbuild/protobuf";

/**
 * The parts of one message, which merge to the whole. Each part holds one entry or more of the same list, and no other
 * field.
 */
export type Parts<M extends Message = Message> = AsyncIterable<M>;

/**
 * A response in forms that can be sent sooner than a whole message. A Connect interceptor sees the whole message
 * instead.
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

/** Yields what `write` makes of each part. */
export async function* writeParts<T>(parts: Parts, write: (part: Message) => T): AsyncGenerator<T> {
  for await (const part of parts) {
    yield write(part);
  }
}

/**
 * Joins the JSON of the parts to the JSON of the whole message, whose list has the entries of all parts. The entries of
 * a part stand between its first `[` and its last `]`.
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
 * Messages of a stream that are sent together. Several streams may share a group, which is encoded only once for each
 * format. A Connect interceptor sees the single messages instead.
 */
export class MessageGroup<M extends Message = Message> {
  readonly messages: readonly M[];
  readonly #encodings = new Map<object, Uint8Array>();

  constructor(messages: readonly M[]) {
    this.messages = messages;
  }

  /**
   * The encoded messages, one after the other. `format` is the key of the cache: for an equal `format`, `encode` must
   * give the same bytes.
   */
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

/** Encodes one item of a stream: a message, or a group of messages. */
export function encodeItem(
  item: Message | MessageGroup,
  format: object,
  encode: (message: Message) => Uint8Array,
): Uint8Array {
  return item instanceof MessageGroup ? item.encoded(format, encode) : encode(item);
}
