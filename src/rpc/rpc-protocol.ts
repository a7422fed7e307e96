import type { DescMessage, DescMethod, MessageShape, Registry } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { ProtocolError } from "../http/protocol-error.ts";
import type { CallResponse } from "./call.ts";
import type { Codec } from "./codec.ts";

/** How messages are read and written in every protocol. */
export interface RpcFormat {
  /** The size of the largest message that is read, in bytes, after decompression. */
  readonly readMaxBytes: number;
  /** ProtoJSON. */
  readonly json: Codec;
  /** Where the types in an `Any` are looked up. */
  readonly registry: Registry;
}

/** A request for an RPC, by its headers. */
export interface RpcRequest {
  readonly exchange: Exchange;
  readonly protocol: RpcProtocol;
  /** Undefined where the request has none. */
  readonly contentType: string | undefined;
  /** Why the request is refused once its message has been read; undefined where it is not. */
  readonly contentFault: ProtocolError | undefined;
}

/** A wire format of calls with one request: how a request is read, and how its answer is written. */
export interface RpcProtocol {
  /** The name that interceptors see. */
  readonly name: string;
  /** Looks at the headers alone. It never throws: reading the message throws what is wrong with them. */
  open(request: RpcRequest, format: RpcFormat): OpenedCall;
}

/** A call whose headers have been read. */
export interface OpenedCall {
  /** From the headers on, in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
  /** Reads and decodes the message. Throws `ProtocolError`, or the reason of `signal`. */
  read<Desc extends DescMessage>(input: Desc, signal: AbortSignal | undefined): Promise<MessageShape<Desc>>;
  /** Makes the answer with a response. `header` is the answer's own. `toClientError` converts the failure of a stream. */
  answer(
    method: DescMethod,
    response: CallResponse,
    header: HeaderList,
    toClientError: (reason: unknown) => ConnectError,
  ): Promise<Answer>;
  /** Makes the answer with an error and its metadata. `header` and `trailer` are what the call has set before. */
  fail(error: ConnectError, header: HeaderList, trailer: Headers): Promise<Answer>;
}
