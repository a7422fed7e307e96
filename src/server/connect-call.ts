import type { IncomingMessage, ServerResponse } from "node:http";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import type { DomainError, ErrorCode } from "../domain/errors.ts";

import type { ClientAddress } from "../http/client-address.ts";
import { CallRecord, headerLines } from "../http/exchange.ts";
import { type RequestIdReader, requestIdHeader } from "../http/request-id.ts";
import { canonicalName } from "../interceptors/error-codes.ts";
import { codeOfDetails, toConnectError } from "../interceptors/errors.ts";
import type { TracedCall } from "../observability/tracing.ts";

const callKey = createContextKey<ConnectCall | undefined>(undefined, { description: "call" });

/** Reads parts of the head of a call. */
export interface ConnectCallOptions {
  readonly clientAddress: ClientAddress;
  readonly readRequestId: RequestIdReader;
}

/** A call that Connect's own handlers answer, for observers. */
export class ConnectCall implements TracedCall {
  readonly record = new CallRecord();
  readonly requestId: string;
  readonly clientAddress: string;
  readonly path: string;
  readonly #request: IncomingMessage;
  #refusal: DomainError | undefined;

  /** `path` is that of a known RPC. */
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

  /** Sets the request id on the answer, and resolves when the answer has ended. */
  answeredBy(response: ServerResponse): Promise<void> {
    response.setHeader(requestIdHeader, this.requestId);
    return new Promise((resolve) => {
      response.once("close", () => {
        this.record.status = response.headersSent ? response.statusCode : 0;
        this.record.isWhole = response.writableEnded && !this.#request.aborted;
        this.record.code = codeOfStatus[this.record.status] ?? this.record.code;
        this.record.responseBytes = Number(response.getHeader("content-length") ?? 0);
        resolve();
      });
    });
  }

  /** The lines of a header, as sent. Node's own `headers` join them, or drop some. */
  #lines(name: string): readonly string[] {
    return headerLines(this.#request.rawHeaders, name);
  }

  /** Lets the interceptor `refuse` refuse the call, so that the answer follows its protocol. */
  refusedFor(refusal: DomainError | undefined): this {
    this.#refusal = refusal;
    return this;
  }

  get refusal(): DomainError | undefined {
    return this.#refusal;
  }

  /** The context values that lead `recordErrorCode` and `refuse` to the call. */
  get contextValues(): ContextValues {
    return createContextValues().set(callKey, this);
  }
}

/** The codes of requests that Connect's handlers refuse before any interceptor runs. */
const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  404: "ROUTE_NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
  415: "MEDIA_TYPE_UNSUPPORTED",
  505: "INVALID_REQUEST",
};

/** Refuses calls that have a refusal. */
export const refuse: Interceptor = (next) => async (request) => {
  const refusal = request.contextValues.get(callKey)?.refusal;
  if (refusal !== undefined) {
    throw toConnectError(refusal);
  }
  return await next(request);
};

/** Records the code of a failed call. Most calls fail while their messages are pulled. */
export const recordErrorCode: Interceptor = (next) => async (request) => {
  const record = request.contextValues.get(callKey)?.record;
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: noteFailure(response.message, record) } : response;
  } catch (reason) {
    note(reason, record);
    throw reason;
  }
};

async function* noteFailure<T>(messages: AsyncIterable<T>, record: CallRecord | undefined): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (reason) {
    note(reason, record);
    throw reason;
  }
}

function note(reason: unknown, record: CallRecord | undefined): void {
  if (record !== undefined) {
    const error = ConnectError.from(reason, Code.Internal);
    record.code = codeOfDetails(error.details) ?? canonicalName(error.code);
  }
}

function protocolOf(contentType = ""): string {
  if (contentType.startsWith("application/grpc-web")) {
    return "grpc-web";
  }
  return contentType.startsWith("application/grpc") ? "grpc" : "connect";
}
