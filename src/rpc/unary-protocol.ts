import type { DescMessage, DescMethodUnary, MessageShape, Registry } from "@bufbuild/protobuf";
import type { ConnectError, UnaryResponse } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";
import type { Codec } from "./codec.ts";

/** How messages are read and written, whatever the protocol. */
export interface RpcFormat {
  /** The size of the largest message that is read, in bytes, after decompression. */
  readonly readMaxBytes: number;
  /** ProtoJSON. */
  readonly json: Codec;
  /** Where the types in an `Any` are looked up. */
  readonly registry: Registry;
}

/** One wire format of unary calls: how a request is read, and its answer written. */
export interface UnaryProtocol {
  /** As interceptors are told it. */
  readonly name: string;
  /** Looks at the headers alone. It never throws: what is wrong with them is said when the call is read. */
  open(exchange: Exchange, format: RpcFormat): UnaryCall;
}

/** One unary call over one protocol. */
export interface UnaryCall {
  /** From the headers on, in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
  /** Reads and decodes the message. Throws `ProtocolError`, or the reason of `deadline`. */
  read<Desc extends DescMessage>(input: Desc, deadline: AbortSignal | undefined): Promise<MessageShape<Desc>>;
  answer(method: DescMethodUnary, response: UnaryResponse): Promise<void>;
  /** Sends an error, with its metadata, and the trailers that the implementation has set, if it was called. */
  fail(error: ConnectError, trailer?: Headers): Promise<void>;
}
