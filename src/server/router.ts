import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "pino";
import { DomainError } from "../domain/errors.ts";
import type { RateLimitDecision } from "../domain/limits.ts";
import { shownPath } from "../domain/masking.ts";
import { type Answer, CallRecord, type Exchange, httpDate } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import type { ParseFault } from "../http/http1/connection.ts";
import { headersTooLarge, malformedRequest, ProtocolError, requestTimeout } from "../http/protocol-error.ts";
import { makeRequestId, requestIdHeader } from "../http/request-id.ts";
import { errorToRest, toConnectError } from "../interceptors/errors.ts";
import { appendLimits, limitError, type RateLimiter } from "../interceptors/limits.ts";
import { referenceMethod } from "../observability/call-metrics.ts";
import type { CallObserver } from "../observability/call-observer.ts";
import type { Page } from "../reference/asset.ts";
import type { Site } from "../reference/site.ts";
import type { RpcHandler } from "../rpc/rpc-handler.ts";
import type { RpcRequest } from "../rpc/rpc-protocol.ts";
import type { Api } from "./api.ts";
import type { Cors } from "./cors.ts";
import type { ConnectServices } from "./tool-services.ts";

/** The parts that answer requests. */
export interface RouterOptions {
  readonly api: Api;
  /** The unary calls of health. */
  readonly health: RpcHandler;
  /** The streams of health and reflection. */
  readonly connectServices: ConnectServices;
  readonly site: Site;
  /** Undefined where pages of other origins may not call the API. */
  readonly cors: Cors | undefined;
  readonly limiter: RateLimiter;
  readonly logger: Logger;
  /** Observes every request when it has been answered. */
  readonly observer: CallObserver;
}

/** Routes each request to its protocol, and sends the answer. The function that it returns never rejects. */
export function createRouter(options: RouterOptions): (exchange: Exchange) => Promise<void> {
  const { logger, observer } = options;
  return async (exchange) => {
    try {
      // An abandoned request needs no answer.
      if (!exchange.isAbandoned) {
        await exchange.respond(await answer(exchange, options));
      }
    } catch (reason) {
      if (!(reason instanceof ProtocolError)) {
        logger.error({ err: reason, path: shownPath(exchange.path) }, "a request failed outside of any call");
      }
      await exchange.respond(refuse(exchange, reason)).catch(() => exchange.abort());
    }
    observer.ended(exchange);
  };
}

function answer(exchange: Exchange, options: RouterOptions): Promise<Answer> {
  const { api, health, connectServices, site, cors, limiter } = options;
  const { path, fault } = exchange;
  if (fault?.kind === "headers_too_large") {
    // The key may be among the headers that were not read.
    return countAnonymous(exchange, limiter, () => refuse(exchange, headersTooLarge()));
  }
  if (path === "/v1" || path.startsWith("/v1/")) {
    return (cors && answerPreflight(exchange, cors, limiter)) ?? api.rest(exchange);
  }
  if (connectServices.serves(path)) {
    return connectServices.answer(exchange);
  }
  if (health.serves(path)) {
    // What it serves, it recognizes.
    return health.answer(health.recognize(exchange) as RpcRequest);
  }
  const rpc = api.rpc.recognize(exchange);
  if (rpc !== undefined) {
    return (cors && answerPreflight(exchange, cors, limiter)) ?? api.rpc.answer(rpc);
  }
  return answerPage(exchange, site);
}

/** Lets pages of other origins read the answer. Browsers send no key with a preflight. */
function answerPreflight(exchange: Exchange, cors: Cors, limiter: RateLimiter): Promise<Answer> | undefined {
  cors.allow(exchange);
  return cors.isPreflight(exchange)
    ? countAnonymous(exchange, limiter, () => cors.preflightAnswer(exchange))
    : undefined;
}

/** Pages need no key, and are not counted. */
async function answerPage(exchange: Exchange, site: Site): Promise<Answer> {
  if (exchange.fault !== undefined) {
    return refuse(exchange, exchange.fault);
  }
  const page = await site.find(exchange.path);
  if (page === undefined) {
    return refuse(exchange, nothingHere());
  }
  exchange.record.method = referenceMethod;
  return await siteAnswer(exchange, page);
}

const allow = "GET, HEAD, OPTIONS";

/** Answers a request for a page of the reference site, which takes only these methods. */
async function siteAnswer(exchange: Exchange, page: Page): Promise<Answer> {
  switch (exchange.method) {
    case "GET":
    case "HEAD":
      return await page(exchange);
    case "OPTIONS":
      return { status: 204, header: new HeaderList({ allow }) };
    default:
      throw new ProtocolError("method_not_allowed", `Use one of these methods here: ${allow}.`, { allow });
  }
}

function nothingHere(): ProtocolError {
  return new ProtocolError("unknown_route", "There is nothing at this path. The API is under /v1.");
}

/** Counts a request outside of any call by the client's address, and refuses it past the limit. */
async function countAnonymous(exchange: Exchange, limiter: RateLimiter, answer: () => Answer): Promise<Answer> {
  const decision = await countAddress(limiter, exchange.clientAddress);
  if (decision instanceof DomainError) {
    return refuse(exchange, decision);
  }
  const error = limitError(decision);
  const counted = error === undefined ? answer() : refuse(exchange, error);
  appendLimits(counted.header, decision);
  return counted;
}

/** Counts a request by its client's address. Resolves to `UNAVAILABLE` if nobody can count it. */
async function countAddress({ anonymous }: RateLimiter, address: string): Promise<RateLimitDecision | DomainError> {
  try {
    return anonymous.decideNow(address) ?? (await anonymous.decide(address));
  } catch (reason) {
    if (reason instanceof DomainError) {
      return reason;
    }
    throw reason;
  }
}

/** Refuses a request outside of any call, and notes the code on the record. */
function refuse(exchange: Exchange, reason: unknown): RefusalResponse {
  const refusal = refusalAnswer(reason);
  exchange.record.code = refusal.code;
  return refusal;
}

/** The answer to a request that is refused outside of any call. */
interface RefusalResponse extends Answer {
  readonly body: Buffer;
  /** The code in the body. */
  readonly code: string;
}

/** The answer that refuses a request, with the Error body of REST. */
function refusalAnswer(reason: unknown): RefusalResponse {
  const error = toConnectError(reason);
  const { status, body } = errorToRest(error);
  const header = new HeaderList();
  header.appendAll(error.metadata);
  header.set("content-type", "application/json");
  return { status, header, body: Buffer.from(JSON.stringify(body)), code: body.code };
}

/** What counts and records refused requests. */
interface FaultOptions {
  /** The request that the fault is in, if its head was complete. */
  readonly broken: Exchange | undefined;
  readonly limiter: RateLimiter;
  readonly observer: CallObserver;
}

/**
 * Answers bytes that are no request of HTTP/1.1, on the bare socket, and closes the socket: no handler sees them. They
 * count as a request of the client's address. A request whose head was complete keeps its id.
 */
export function respondToFault(fault: ParseFault, socket: Socket, { broken, limiter, observer }: FaultOptions): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const clientAddress = broken?.clientAddress ?? socket.remoteAddress ?? "";
  void countAddress(limiter, clientAddress).then((decision) => {
    const isCounted = !(decision instanceof DomainError);
    const refusal = isCounted ? limitError(decision) : decision;
    const { status, header, body, code } = refusalAnswer(refusal ?? toProtocolError(fault));
    const requestId = broken?.requestId ?? makeRequestId();
    if (isCounted) {
      appendLimits(header, decision);
    }
    header.set("content-length", String(body.length));
    header.set("connection", "close");
    header.set(requestIdHeader, requestId);
    header.set("date", httpDate());
    const fields = [...header].map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}\r\n${body.toString()}`);
    const record = Object.assign(new CallRecord(), { code, status, responseBytes: body.length, isWhole: true });
    observer.ended({ record, requestId, clientAddress, path: undefined });
    setTimeout(() => socket.destroy(), closeMs).unref();
  });
}

/** How long a client may take to read its answer and close the connection, in milliseconds. */
const closeMs = 1_000;

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
