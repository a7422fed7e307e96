import { DomainError } from "../domain/errors.ts";
import { shownPath } from "../domain/masking.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import { headersTooLarge, ProtocolError } from "../http/protocol-error.ts";
import { authorityFault } from "../http/target.ts";
import { appendLimits, limitError, type RateLimiter } from "../interceptors/limits.ts";
import { referenceMethod } from "../observability/call-metrics.ts";
import type { CallObserver } from "../observability/call-observer.ts";
import type { Site } from "../reference/site.ts";
import type { RpcHandler } from "../rpc/rpc-handler.ts";
import type { Api } from "./api.ts";
import type { ConnectServices } from "./connect-services.ts";
import type { Cors } from "./cors.ts";
import type { Logger } from "./logger.ts";
import { countAddress, type RefusalResponse, refusalAnswer, siteAnswer } from "./refusal.ts";

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

/** The largest headers of a request over HTTP/2, in bytes. Over HTTP/1.1 a connection refuses what is larger. */
const maxHeaderBytes = 16 * 1024;

/** Routes each request to its protocol, and sends the answer. The function that it returns never rejects. */
export function createRouter(options: RouterOptions): (exchange: Exchange) => Promise<void> {
  const { api, health, connectServices, site, cors, limiter, logger, observer } = options;
  function answer(exchange: Exchange): Promise<Answer> {
    const { path } = exchange;
    if (exchange.httpVersion === "2" && exchange.headerBytes > maxHeaderBytes) {
      return countAnonymous(exchange, limiter, () => refuse(exchange, headersTooLarge()));
    }
    // A wrong head is refused in the order of the contract: with the content, once the caller is let in.
    const contentFault = exchange.fault ?? authorityFault(exchange.authority);
    if (path === "/v1" || path.startsWith("/v1/")) {
      return (cors && answerPreflight(exchange, cors)) ?? api.rest(exchange, contentFault);
    }
    if (connectServices.serves(path)) {
      return connectServices.answer(exchange, contentFault);
    }
    const check = health.serves(path) ? health.recognize(exchange, contentFault) : undefined;
    if (check !== undefined) {
      return health.answer(check);
    }
    const rpc = api.rpc.recognize(exchange, contentFault);
    if (rpc !== undefined) {
      return (cors && answerPreflight(exchange, cors)) ?? api.rpc.answer(rpc);
    }
    return answerPage(exchange, contentFault);
  }

  /** Lets pages of other origins read the answer. Browsers send no key with a preflight. */
  function answerPreflight(exchange: Exchange, cors: Cors): Promise<Answer> | undefined {
    cors.allow(exchange);
    return cors.isPreflight(exchange)
      ? countAnonymous(exchange, limiter, () => cors.preflightAnswer(exchange))
      : undefined;
  }

  /** Pages need no key, and are not counted. */
  async function answerPage(exchange: Exchange, contentFault: ProtocolError | undefined): Promise<Answer> {
    if (contentFault !== undefined) {
      return refuse(exchange, contentFault);
    }
    const page = await site.find(exchange.path);
    if (page === undefined) {
      return refuse(exchange, nothingHere());
    }
    exchange.record.method = referenceMethod;
    return await siteAnswer(exchange, page);
  }

  return async (exchange) => {
    try {
      // An abandoned request needs no answer.
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

function nothingHere(): ProtocolError {
  return new ProtocolError("unknown_route", "There is nothing at this path. The API is under /v1.");
}

/** Counts a request outside of any call by the client's address, and refuses it past the limit. */
async function countAnonymous(exchange: Exchange, limiter: RateLimiter, answer: () => OwnAnswer): Promise<OwnAnswer> {
  const decision = await countAddress(limiter, exchange.clientAddress);
  if (decision instanceof DomainError) {
    return refuse(exchange, decision);
  }
  const error = limitError(decision);
  const counted = error === undefined ? answer() : refuse(exchange, error);
  appendLimits(counted.header, decision);
  return counted;
}

/** Refuses a request outside of any call, and notes the code on the record. */
function refuse(exchange: Exchange, reason: unknown): RefusalResponse {
  const refusal = refusalAnswer(reason);
  exchange.record.code = refusal.code;
  return refusal;
}
