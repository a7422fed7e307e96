import type { DescMethod, Registry } from "@bufbuild/protobuf";
import type { Exchange } from "../http/exchange.ts";
import type { ProtocolError } from "../http/protocol-error.ts";
import type { ProtocolCall, ToError } from "./call.ts";
import type { Codec } from "./codec.ts";

/** How messages are read and written in every protocol. */
export interface RpcFormat {
  /** The size of the largest message that is read, in bytes, after decompression. */
  readonly readMaxBytes: number;
  /** ProtoJSON. */
  readonly json: Codec;
  /** Where the types in an `Any` are looked up. */
  readonly registry: Registry;
  /** Converts the failure of a stream to the error that clients see. */
  readonly toError: ToError;
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
  open(request: RpcRequest, method: DescMethod, format: RpcFormat): ProtocolCall;
}
