import type { Interceptor } from "@connectrpc/connect";

/** The most digits that gRPC's header has room for. */
const grpcDigits = 8;

/** The headers in which transports send a call's timeout, and how each is written. */
const timeoutHeaders = [
  { name: "connect-timeout-ms", form: /^(\d+)$/, write: (timeoutMs: number) => String(timeoutMs) },
  { name: "grpc-timeout", form: /^(\d+)m$/, write: writeGrpcTimeout },
];

function writeGrpcTimeout(timeoutMs: number): string {
  return timeoutMs < 10 ** grpcDigits ? `${timeoutMs}m` : `${Math.ceil(timeoutMs / 1_000)}S`;
}

/**
 * The timeout in a call's headers, in milliseconds; undefined for none. An interceptor can see it nowhere else.
 *
 * Source: https://connectrpc.com/docs/protocol, https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export function timeoutOf(header: Headers): number | undefined {
  for (const { name, form } of timeoutHeaders) {
    const [, milliseconds] = form.exec(header.get(name) ?? "") ?? [];
    if (milliseconds !== undefined) {
      return Number(milliseconds);
    }
  }
  return undefined;
}

/** Writes a long timeout over gRPC in seconds. Connect's transports write milliseconds, whatever room they take. */
export const longTimeouts: Interceptor = (next) => (request) => {
  const timeoutMs = timeoutOf(request.header);
  if (timeoutMs !== undefined) {
    setTimeoutOf(request.header, timeoutMs);
  }
  return next(request);
};

/** Lowers the timeout of a call to what is left of it; 1 ms at least, since 0 would mean none. */
export function setTimeoutOf(header: Headers, timeoutMs: number): void {
  for (const { name, write } of timeoutHeaders) {
    if (header.has(name)) {
      header.set(name, write(Math.max(1, Math.ceil(timeoutMs))));
    }
  }
}
