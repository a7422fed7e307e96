import type { Message } from "@bufbuild/protobuf";

/** The body of an answer that is kept ready, so that its message need not be made and written again. */
export interface Serialized {
  /** Whole, or in pieces that are made as they are pulled. The bytes must not be changed. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

const serializedBodies = new WeakMap<Message, Serialized>();

/** Gives a message a body that a protocol sends in its place; the message itself may then be empty. */
export function withSerialized<M extends Message>(message: M, body: Serialized): M {
  serializedBodies.set(message, body);
  return message;
}

/** The body to send in place of a message; undefined when the message is to be written. */
export function serializedOf(message: Message): Serialized | undefined {
  return serializedBodies.get(message);
}
