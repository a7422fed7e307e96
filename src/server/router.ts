import { headersTooLarge, nothingHere } from "../domain/errors.ts";
import { authorityFault } from "../http/authority.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { appendLimits, limitError, type RateLimiter } from "../interceptors/limits.ts";
import { referenceMethod } from "../observability/call-metrics.ts";
import type { CallObserver } from "../observability/call-observer.ts";
import { shownPath } from "../observability/masking.ts";
import type { Site } from "../reference/site.ts";
import type { RpcHandler } from "../rpc/rpc-handler.ts";
import type { Api } from "./api.ts";
import type { Cors } from "./cors.ts";
import type { Logger } from "./logger.ts";
import { type RefusalResponse, refusalAnswer, siteAnswer } from "./refusal.ts";

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
  async function answerOutsideOfApi(exchange: Exchange, fault: ProtocolError | undefined): Promise<Answer> {
    if (fault !== undefined) {
      return refuse(exchange, fault);
    }
    const page = await site.find(exchange.path);
    if (page === undefined) {
      return refuse(exchange, nothingHere());
    }
    exchange.record.method = referenceMethod;
    return await siteAnswer(exchange, page);
  }

  async function answer(exchange: Exchange): Promise<Answer> {
    const { path } = exchange;
    if (exchange.headerBytes > maxHeaderBytes) {
      return countAnonymous(exchange, limiter, () => refuse(exchange, headersTooLarge()));
    }
    const contentFault = authorityFault(exchange.authority);
    const isRest = path === "/v1" || path.startsWith("/v1/");
    const rpcs = health.serves(path) ? health : api.rpc;
    const rpc = isRest ? undefined : rpcs.recognize(exchange, contentFault);
    if (rpc !== undefined && rpcs === health) {
      return await health.answer(rpc);
    }
    if (!isRest && rpc === undefined) {
      return await answerOutsideOfApi(exchange, contentFault);
    }
    cors.allow(exchange);
    if (cors.isPreflight(exchange)) {
      // Browsers send no key with a preflight.
      return countAnonymous(exchange, limiter, () => cors.preflightAnswer(exchange));
    }
    return await (rpc === undefined ? api.rest(exchange, contentFault) : api.rpc.answer(rpc));
  }

  return async (exchange) => {
    try {
      // Others need not wait for an answer that nobody would get.
      if (!exchange.isAbandoned) {
        await exchange.respond(await answer(exchange));
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

type OwnAnswer = Answer & { readonly header: HeaderList };

/** What is answered outside of any call is counted by the client's address, and refused past its limit. */
function countAnonymous(exchange: Exchange, limiter: RateLimiter, answer: () => OwnAnswer): Answer {
  const decision = limiter.decideAnonymous(exchange.clientAddress);
  const error = limitError(decision);
  const counted = error === undefined ? answer() : refuse(exchange, error);
  appendLimits(counted.header, decision);
  return counted;
}

/** The answer to what is refused outside of any call. It notes the code on the record. */
function refuse(exchange: Exchange, reason: unknown): RefusalResponse {
  const refusal = refusalAnswer(reason);
  exchange.record.code = refusal.code;
  return refusal;
}
