import type { Logger } from "pino";
import { DomainError } from "../domain/errors.ts";
import type { RateLimiter } from "../domain/limits.ts";
import { shownPath } from "../domain/masking.ts";
import { errorAnswer } from "../gateway/rest-call.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { errorCodeOf, errorToRest, toConnectError } from "../interceptors/errors.ts";
import { chargeAddress } from "../interceptors/limits.ts";
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
interface RouterOptions {
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
      if (!(reason instanceof ProtocolError || reason instanceof DomainError)) {
        logger.error({ err: reason, path: shownPath(exchange.path) }, "a request failed outside of any call");
      }
      await exchange.respond(refuse(exchange, reason)).catch(() => exchange.abort());
    }
    observer.ended(exchange);
  };
}

function answer(exchange: Exchange, options: RouterOptions): Promise<Answer> {
  const { api, health, connectServices, cors, limiter } = options;
  const { method, path, fault } = exchange;
  const isRest = path === "/v1" || path.startsWith("/v1/");
  cors?.allow(exchange);
  if (method === "" || fault?.kind === "headers_too_large") {
    // The key may be in what was not read.
    const call = method === "POST" && !isRest ? api.rpc.recognize(exchange) : undefined;
    const fail = async (reason: unknown) =>
      call === undefined ? refuse(exchange, reason) : await api.rpc.refuse(call, reason);
    return countAnonymous(exchange, limiter, () => fail(fault), fail);
  }
  if (isRest) {
    return (cors && answerPreflight(exchange, cors, limiter)) ?? api.rest(exchange);
  }
  const isTool = connectServices.serves(path) || health.serves(path);
  const rpc = isTool ? undefined : api.rpc.recognize(exchange);
  if (rpc !== undefined) {
    return (cors && answerPreflight(exchange, cors, limiter)) ?? api.rpc.answer(rpc);
  }
  return answerPublic(exchange, options);
}

/** Browsers send no key with a preflight. */
function answerPreflight(exchange: Exchange, cors: Cors, limiter: RateLimiter): Promise<Answer> | undefined {
  const { fault } = exchange;
  return cors.isPreflight(exchange)
    ? countAnonymous(exchange, limiter, () => (fault ? refuse(exchange, fault) : cors.preflightAnswer(exchange)))
    : undefined;
}

/** Health, reflection and pages need no key, and are not counted; nor are preflights for them. */
async function answerPublic(exchange: Exchange, options: RouterOptions): Promise<Answer> {
  const { health, connectServices, site, cors } = options;
  if (exchange.fault === undefined && cors?.isPreflight(exchange)) {
    return cors.preflightAnswer(exchange);
  }
  if (connectServices.serves(exchange.path)) {
    return connectServices.answer(exchange);
  }
  if (health.serves(exchange.path)) {
    // What it serves, it recognizes.
    return health.answer(health.recognize(exchange) as RpcRequest);
  }
  return answerPage(exchange, site);
}

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
      return { status: 204, header: HeaderList.from({ allow }) };
    default:
      throw new ProtocolError("method_not_allowed", `Use one of these methods here: ${allow}.`, { allow });
  }
}

function nothingHere(): ProtocolError {
  return new ProtocolError("unknown_route", "There is nothing at this path. The API is under /v1.");
}

/** Counts a request outside of any call by the client's address, and refuses it past the limit. */
async function countAnonymous(
  exchange: Exchange,
  limiter: RateLimiter,
  answer: () => Answer | Promise<Answer>,
  fail: (reason: unknown) => Answer | Promise<Answer> = (reason) => refuse(exchange, reason),
): Promise<Answer> {
  const limits = new HeaderList();
  const error = await chargeAddress(limiter.anonymous, exchange.clientAddress, limits);
  const counted = await (error === undefined ? answer() : fail(error));
  counted.header.appendAll(limits);
  return counted;
}

/** Refuses a request outside of any call with the Error body of REST, and notes the code on the record. */
function refuse({ record }: Exchange, reason: unknown): Answer {
  const error = toConnectError(reason);
  record.code = errorCodeOf(error);
  return errorAnswer(error, new HeaderList(), errorToRest);
}
