import type { DescMethod, Registry } from "@bufbuild/protobuf";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import type { ProtocolCall, ToError } from "./call.ts";
import type { Codec } from "./codec.ts";

/** How messages are read and written in every protocol. */
export interface RpcFormat {
  /** The size of the largest message that is read, in bytes, after decompression. */
  readonly readMaxBytes: number;
  /** The codec of ProtoJSON. */
  readonly json: Codec;
  /** Where the types in an `Any` are looked up. */
  readonly registry: Registry;
  /** Converts the failure of a stream to the error that clients see. */
  readonly toError: ToError;
}

/** A request for an RPC, as far as its headers tell. */
export interface RpcRequest {
  readonly exchange: Exchange;
  readonly protocol: RpcProtocol;
  /** Undefined where the request has none. */
  readonly contentType: string | undefined;
}

/** A wire format of calls with one request: how a request is read, and how its answer is written. */
export interface RpcProtocol {
  /** The name that interceptors see. */
  readonly name: string;
  /** Interprets the headers. It never throws: a fault in them is thrown when the message is read. */
  open(request: RpcRequest, method: DescMethod, format: RpcFormat): ProtocolCall;
}

/** The longest deadline, in milliseconds: the most that Node's timers hold, some 24 days. */
const maxTimeoutMs = 2 ** 31 - 1;

/** A protocol's parser of deadlines. `maxMs` is the longest deadline that it accepts. */
type ParseTimeout = (value: string, maxMs: number) => { readonly timeoutMs?: number; readonly error?: unknown };

/** The deadline in a header. */
interface Timeout {
  /** Undefined if there is no header, or if it is malformed. At most `maxTimeoutMs`: a longer deadline is shortened. */
  readonly timeoutMs: number | undefined;
  /** Throws `malformed` if the header is malformed. */
  readonly assertValid: () => void;
}

const noTimeout: Timeout = { timeoutMs: undefined, assertValid() {} };

/** Reads the deadline in a header. */
export function readTimeout(value: string | undefined, parse: ParseTimeout): Timeout {
  if (value === undefined) {
    return noTimeout;
  }
  const { timeoutMs, error } = parse(value, Number.MAX_SAFE_INTEGER);
  return {
    timeoutMs: timeoutMs && Math.min(timeoutMs, maxTimeoutMs),
    assertValid() {
      if (error !== undefined) {
        throw new ProtocolError(
          "malformed",
          "The timeout header is not valid. Send Connect-Timeout-Ms: 1500, or over gRPC grpc-timeout: 1500m.",
        );
      }
    },
  };
}
