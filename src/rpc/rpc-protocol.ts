import type { DescMessage, DescMethodUnary, MessageShape, Registry } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { ProtocolError } from "../http/protocol-error.ts";
import type { UnaryCallResponse } from "./call.ts";
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

/** A request for an RPC, as its headers tell it. */
export interface RpcRequest {
  readonly exchange: Exchange;
  readonly protocol: RpcProtocol;
  /** Undefined where the request has none. */
  readonly contentType: string | undefined;
  /** Why the request is refused with its content; undefined where nothing is known against it. */
  readonly contentFault: ProtocolError | undefined;
}

/** One wire format of unary calls: how a request is read, and its answer written. */
export interface RpcProtocol {
  /** As interceptors are told it. */
  readonly name: string;
  /** Looks at the headers alone. It never throws: what is wrong with them is said when the message is read. */
  open(request: RpcRequest, format: RpcFormat): OpenedCall;
}

/** One unary call over one protocol. */
export interface OpenedCall {
  /** From the headers on, in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
  /** Reads and decodes the message. Throws `ProtocolError`, or the reason of `signal`. */
  read<Desc extends DescMessage>(input: Desc, signal: AbortSignal | undefined): Promise<MessageShape<Desc>>;
  /** The answer that carries a response. `header` is the answer's own, to be added to. */
  answer(method: DescMethodUnary, response: UnaryCallResponse, header: HeaderList): Promise<Answer>;
  /** The answer that carries an error and its metadata. `header` and `trailer` are what the call has set before. */
  fail(error: ConnectError, header: HeaderList, trailer: Headers): Promise<Answer>;
}
