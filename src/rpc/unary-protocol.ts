import type { DescMessage, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import type { ConnectError, UnaryResponse } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";

/** One wire format of unary calls: how a request is read, and its answer written. */
export interface UnaryProtocol {
  /** As interceptors are told it. */
  readonly name: string;
  /** Looks at the headers alone. It never throws: what is wrong with them is said when the call is read. */
  open(exchange: Exchange, readMaxBytes: number): UnaryCall;
}

/** One unary call over one protocol. */
export interface UnaryCall {
  /** From the headers on, in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
  /** Reads and decodes the message. Throws `ProtocolError`, or the reason of `deadline`. */
  read<Desc extends DescMessage>(input: Desc, deadline: AbortSignal | undefined): Promise<MessageShape<Desc>>;
  answer(method: DescMethodUnary, response: UnaryResponse): Promise<void>;
  fail(error: ConnectError): Promise<void>;
}
