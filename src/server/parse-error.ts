import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type DomainError, headersTooLarge, malformedRequest, requestTimeout } from "../domain/errors.ts";
import { CallRecord } from "../http/call-record.ts";
import { makeRequestId, requestIdHeader } from "../http/request-id.ts";
import { appendLimits, limitError, type RateLimiter } from "../interceptors/limits.ts";
import type { CallObserver } from "../observability/call-observer.ts";
import { refusalAnswer } from "./refusal.ts";

/** How long a client has to take its answer and close the connection, in milliseconds. */
const closeMs = 1_000;

/** Who counts such requests, and who is told of them. */
export interface ParseErrorOptions {
  readonly limiter: RateLimiter;
  readonly observer: CallObserver;
}

/** The connections that were refused. Node refuses each further piece that comes of one once more. */
const refused = new WeakSet<Socket>();

/**
 * Answers a request that Node's parser has refused, so that no handler sees it, on the bare socket, and closes it. It
 * is counted by its address. A client that has gone away, or was being answered, gets nothing.
 */
export function respondToParseError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  { limiter, observer }: ParseErrorOptions,
): void {
  if (refused.has(socket)) {
    return;
  }
  refused.add(socket);
  const isBeingAnswered = (socket as { _httpMessage?: { headersSent: boolean } })._httpMessage?.headersSent === true;
  if (!socket.writable || isBeingAnswered || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const clientAddress = socket.remoteAddress ?? "";
  const decision = limiter.decideAnonymous(clientAddress);
  const { status, header, body, code } = refusalAnswer(limitError(decision) ?? toDomainError(error));
  const requestId = makeRequestId();
  appendLimits(header, decision);
  header.set("content-length", String(body.length));
  header.set("connection", "close");
  header.set(requestIdHeader, requestId);
  const fields = [...header].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}\r\n${body.toString()}`);
  const record = Object.assign(new CallRecord(), { code, status, responseBytes: body.length, isWhole: true });
  observer.ended({ record, requestId, clientAddress, path: undefined });
  // A client that does not close its side is not waited for.
  setTimeout(() => socket.destroy(), closeMs).unref();
}

/** What the request is refused for, within the limit of its address. */
function toDomainError({ code }: NodeJS.ErrnoException): DomainError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return headersTooLarge();
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return requestTimeout();
    default:
      return malformedRequest();
  }
}
