import type { IncomingMessage, ServerResponse } from "node:http";
import {
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import { CallRecord } from "../http/call-record.ts";
import type { ClientAddress } from "../http/client-address.ts";
import { type RequestIdReader, requestIdHeader } from "../http/request-id.ts";
import { canonicalName } from "../interceptors/error-codes.ts";
import type { TracedCall } from "../observability/tracing.ts";

const recordKey = createContextKey<CallRecord | undefined>(undefined, { description: "record" });

/** How the head of a call is read. */
export interface ConnectCallOptions {
  readonly clientAddress: ClientAddress;
  readonly readRequestId: RequestIdReader;
}

/** A call that Connect's own handlers answer, as observers are told of it. */
export class ConnectCall implements TracedCall {
  readonly record = new CallRecord();
  readonly requestId: string;
  readonly clientAddress: string;
  readonly path: string;
  readonly #request: IncomingMessage;

  /** `path` is that of an RPC which is served. */
  constructor(request: IncomingMessage, path: string, { clientAddress, readRequestId }: ConnectCallOptions) {
    this.#request = request;
    this.path = path;
    this.requestId = readRequestId(this.#lines(requestIdHeader));
    this.clientAddress = clientAddress.resolve(request.socket.remoteAddress ?? "", this.#lines("x-forwarded-for"));
    this.record.protocol = protocolOf(this.header("content-type"));
    this.record.method = path.slice(1);
    this.record.isStream = true;
    this.record.requestBytes = Number(this.header("content-length") ?? 0);
  }

  get method(): string {
    return this.#request.method ?? "";
  }

  header(name: string): string | undefined {
    const lines = this.#lines(name);
    return lines.length === 0 ? undefined : lines.join(", ");
  }

  /** Names the request on its answer, and resolves when the answer has ended. */
  answeredBy(response: ServerResponse): Promise<void> {
    response.setHeader(requestIdHeader, this.requestId);
    return new Promise((resolve) => {
      response.once("close", () => {
        this.record.status = response.headersSent ? response.statusCode : 0;
        this.record.isWhole = response.writableEnded && !this.#request.aborted;
        this.record.responseBytes = Number(response.getHeader("content-length") ?? 0);
        resolve();
      });
    });
  }

  /** The lines of a header, in the order in which they were sent. Node's own `headers` join them, or leave some out. */
  #lines(name: string): readonly string[] {
    const raw = this.#request.rawHeaders;
    return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name);
  }

  /** What Connect's handlers pass on to `noteCode`. */
  get contextValues(): ContextValues {
    return createContextValues().set(recordKey, this.record);
  }
}

/** Notes what a call of Connect's handlers comes to. */
export const noteCode: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (reason) {
    const record = request.contextValues.get(recordKey);
    if (record !== undefined) {
      record.code = canonicalName(ConnectError.from(reason).code);
    }
    throw reason;
  }
};

function protocolOf(contentType = ""): string {
  if (contentType.startsWith("application/grpc-web")) {
    return "grpc-web";
  }
  return contentType.startsWith("application/grpc") ? "grpc" : "connect";
}
