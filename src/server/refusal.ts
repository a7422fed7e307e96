import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { DomainError } from "../domain/errors.ts";
import type { RateLimitDecision } from "../domain/limits.ts";
import { type Answer, CallRecord, type Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import type { ParseFault } from "../http/http1/connection.ts";
import { headersTooLarge, malformedRequest, ProtocolError, requestTimeout } from "../http/protocol-error.ts";
import { makeRequestId, requestIdHeader } from "../http/request-id.ts";
import { errorToRest, toConnectError } from "../interceptors/errors.ts";
import { appendLimits, limitError, type RateLimiter } from "../interceptors/limits.ts";
import type { CallObserver } from "../observability/call-observer.ts";
import type { Page } from "../reference/asset.ts";

/** The answer to a request that is refused outside of any call. */
export interface RefusalResponse extends Answer {
  readonly header: HeaderList;
  readonly body: Buffer;
  /** The code that the body tells. */
  readonly code: string;
}

/** The answer that refuses a request, with the Error body of REST. */
export function refusalAnswer(reason: unknown): RefusalResponse {
  const error = toConnectError(reason);
  const { status, body } = errorToRest(error);
  const header = new HeaderList();
  header.appendAll(error.metadata);
  header.set("content-type", "application/json");
  return { status, header, body: Buffer.from(JSON.stringify(body)), code: body.code };
}

const allow = "GET, HEAD, OPTIONS";

/** Answers a request for a page of the reference site, which takes no method but these. */
export async function siteAnswer(exchange: Exchange, page: Page): Promise<Answer> {
  switch (exchange.method) {
    case "GET":
    case "HEAD":
      return await page(exchange);
    case "OPTIONS":
      return { status: 204, header: new Headers({ allow }) };
    default:
      throw new ProtocolError("method_not_allowed", `Use one of these methods here: ${allow}.`, { allow });
  }
}

/** How long a client may take to read its answer and close the connection, in milliseconds. */
const closeMs = 1_000;

/** What counts and records refused requests. */
export interface FaultOptions {
  readonly limiter: RateLimiter;
  readonly observer: CallObserver;
}

/**
 * Answers what is no request over HTTP/1.1 on the bare socket, and closes that: no handler sees it. It is counted by its
 * address.
 */
export function respondToFault(fault: ParseFault, socket: Socket, { limiter, observer }: FaultOptions): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const clientAddress = socket.remoteAddress ?? "";
  void countAddress(limiter, clientAddress).then((decision) => {
    const isCounted = !(decision instanceof DomainError);
    const refusal = isCounted ? limitError(decision) : decision;
    const { status, header, body, code } = refusalAnswer(refusal ?? toProtocolError(fault));
    const requestId = makeRequestId();
    if (isCounted) {
      appendLimits(header, decision);
    }
    header.set("content-length", String(body.length));
    header.set("connection", "close");
    header.set(requestIdHeader, requestId);
    const fields = [...header].map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}\r\n${body.toString()}`);
    const record = Object.assign(new CallRecord(), { code, status, responseBytes: body.length, isWhole: true });
    observer.ended({ record, requestId, clientAddress, path: undefined });
    setTimeout(() => socket.destroy(), closeMs).unref();
  });
}

/** Counts a request by its client's address. Resolves to `UNAVAILABLE` where nobody counts. */
export async function countAddress(
  { anonymous }: RateLimiter,
  address: string,
): Promise<RateLimitDecision | DomainError> {
  try {
    return anonymous.decideNow(address) ?? (await anonymous.decide(address));
  } catch (reason) {
    if (reason instanceof DomainError) {
      return reason;
    }
    throw reason;
  }
}

/** Why the request is refused, if its address is within its limit. */
function toProtocolError(fault: ParseFault): ProtocolError {
  switch (fault) {
    case "headers too large":
      return headersTooLarge();
    case "timeout":
      return requestTimeout();
    case "malformed":
      return malformedRequest();
  }
}
