import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import type { StreamResponse, UnaryResponse } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";

/**
 * One RPC, ready to be called by any protocol: its method, and the chain of interceptors that ends in its
 * implementation, composed once.
 */
export interface Endpoint<
  M extends DescMethodUnary | DescMethodServerStreaming = DescMethodUnary | DescMethodServerStreaming,
> {
  readonly method: M;
  /**
   * Runs the chain. The interceptors see the call as soon as its headers are in; the chain's last link has the
   * message read, checks it and calls the implementation. A stream is given once its first message is there: an error
   * before it is thrown.
   *
   * Throws nothing but `ConnectError`, whose metadata are headers of the answer.
   */
  call(call: Call<M["input"]>): Promise<M extends DescMethodUnary ? UnaryResponse : StreamResponse>;
}

/** What a protocol knows of a call when the headers are in. */
export interface Call<I extends DescMessage = DescMessage> {
  readonly exchange: Exchange;
  /** The protocol's name, such as `rest` or `grpc`. */
  readonly protocolName: string;
  /** From the headers on, in milliseconds; undefined for none. */
  readonly timeoutMs?: number | undefined;
  /** Takes the trailers of the implementation, for a caller that sends them with errors, too. */
  readonly responseTrailer?: Headers;
  /**
   * Reads and decodes the message. It is called at most once, after the interceptors have let the call in. Throws
   * `ProtocolError`, or the reason of `deadline`, which aborts when the time is up; undefined when there is no end.
   */
  read(deadline: AbortSignal | undefined): Promise<MessageShape<I>>;
}

/** An RPC with one request and one answer. */
export type UnaryEndpoint = Endpoint<DescMethodUnary>;
