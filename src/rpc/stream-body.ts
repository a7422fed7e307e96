import type { DescMessage } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { StreamCallResponse } from "./call.ts";
import type { Codec } from "./codec.ts";
import { closeEnvelope } from "./envelope.ts";
import { encodeItem } from "./message-group.ts";

/** How a stream is written over Connect, gRPC and gRPC-Web. */
export interface StreamFormat {
  readonly output: DescMessage;
  readonly codec: Codec;
  /** Converts the failure of a stream to the error that clients see. */
  readonly toClientError: (reason: unknown) => ConnectError;
  /** Is told how the stream has ended. What it returns ends the body. */
  readonly end: (error: ConnectError | undefined) => Uint8Array | undefined;
}

/** The body of a streaming answer: each message in an envelope, uncompressed, then the protocol's own end. */
export async function* streamBody(
  messages: StreamCallResponse["message"],
  { output, codec, toClientError, end }: StreamFormat,
): AsyncGenerator<Uint8Array> {
  let error: ConnectError | undefined;
  try {
    for await (const item of messages) {
      yield encodeItem(item, codec, (message) => closeEnvelope(codec.encode(output, message), 0));
    }
  } catch (reason) {
    error = toClientError(reason);
  }
  const last = end(error);
  if (last !== undefined) {
    yield last;
  }
}
