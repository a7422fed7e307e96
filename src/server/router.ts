import { headersTooLarge, nothingHere } from "../domain/errors.ts";
import { assertAuthority } from "../http/authority.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { appendLimits, limitError, type RateLimiter } from "../interceptors/limits.ts";
import { referenceMethod } from "../observability/call-metrics.ts";
import type { CallObserver } from "../observability/call-observer.ts";
import { shownPath } from "../observability/shown-path.ts";
import type { Site } from "../reference/site.ts";
import type { RpcHandler } from "../rpc/rpc-handler.ts";
import type { Api } from "./api.ts";
import type { Cors } from "./cors.ts";
import type { Logger } from "./logger.ts";
import { refusalAnswer } from "./refusal.ts";
import { siteAnswer } from "./site-answer.ts";

/** Where requests can go. */
export interface RouterOptions {
  readonly api: Api;
  /** The unary calls of health. */
  readonly health: RpcHandler;
  readonly site: Site;
  readonly cors: Cors;
  readonly limiter: RateLimiter;
  readonly logger: Logger;
  /** Is told of every request when it has been answered. */
  readonly observer: CallObserver;
}

/** The largest headers that are taken, in bytes: as many as Node takes over HTTP/1.1. */
const maxHeaderBytes = 16 * 1024;

/** Leads each request to the protocol that it speaks. The function that it makes never rejects. */
export function createRouter(options: RouterOptions): (exchange: Exchange) => Promise<void> {
  const { api, health, site, cors, limiter, logger, observer } = options;
  /** Pages need no key, and are not counted. */
  async function respondOutsideOfApi(exchange: Exchange): Promise<void> {
    assertAuthority(exchange.authority);
    const page = await site.find(exchange.path);
    if (page === undefined) {
      return exchange.respond(refuse(exchange, nothingHere()));
    }
    exchange.record.method = referenceMethod;
    return exchange.respond(await siteAnswer(exchange, page));
  }

  function route(exchange: Exchange): Promise<void> {
    if (exchange.headerBytes > maxHeaderBytes) {
      return exchange.respond(countAnonymous(exchange, limiter, () => refuse(exchange, headersTooLarge())));
    }
    if (health.serves(exchange.path)) {
      return health.handle(exchange);
    }
    const isRest = exchange.path === "/v1" || exchange.path.startsWith("/v1/");
    if (!isRest && !api.rpc.isRpc(exchange)) {
      return respondOutsideOfApi(exchange);
    }
    cors.allow(exchange);
    if (cors.isPreflight(exchange)) {
      // Browsers send no key with a preflight.
      return exchange.respond(countAnonymous(exchange, limiter, () => cors.preflightAnswer(exchange)));
    }
    return isRest ? api.rest(exchange) : api.rpc.handle(exchange);
  }

  return async (exchange) => {
    try {
      // Others need not wait for what nobody would get.
      if (!exchange.isAbandoned) {
        await route(exchange);
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

/** What is answered outside of any call is counted by the client's address, and refused past its limit. */
function countAnonymous(exchange: Exchange, limiter: RateLimiter, answer: () => Answer): Answer {
  const decision = limiter.decideAnonymous(exchange.clientAddress);
  const error = limitError(decision);
  const counted = error === undefined ? answer() : refuse(exchange, error);
  appendLimits(counted.header, decision);
  return counted;
}

/** The answer to what is refused outside of any call, of which the record is told. */
function refuse(exchange: Exchange, reason: unknown): Answer {
  const refusal = refusalAnswer(reason);
  exchange.record.code = refusal.code;
  return refusal;
}
