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
