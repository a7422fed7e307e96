import type { Message } from "@bufbuild/protobuf";

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
