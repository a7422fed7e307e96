import { DomainError } from "../domain/errors.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import { assertAdmitted, limitHeaders, type Meter } from "../interceptors/limits.ts";
import type { Api } from "./api.ts";
import type { Cors } from "./cors.ts";
import type { Logger } from "./logger.ts";
import { refusalAnswer } from "./refusal.ts";

/** Where requests can go. */
export interface RouterOptions {
  readonly api: Api;
  readonly cors: Cors;
  readonly meter: Meter;
  readonly logger: Logger;
}

/** Leads each request to the protocol that it speaks. The function that it makes never rejects. */
export function createRouter({ api, cors, meter, logger }: RouterOptions): (exchange: Exchange) => Promise<void> {
  async function route(exchange: Exchange): Promise<void> {
    const isRest = exchange.path === "/v1" || exchange.path.startsWith("/v1/");
    if (!isRest && !api.rpc.isRpc(exchange)) {
      return exchange.respond(refusalAnswer(nothingHere()));
    }
    cors.allow(exchange);
    if (cors.isPreflight(exchange)) {
      return exchange.respond(preflightAnswer(exchange));
    }
    return isRest ? api.rest(exchange) : api.rpc.handle(exchange);
  }

  /** Browsers send no key with a preflight: it is counted by its address. */
  function preflightAnswer(exchange: Exchange): Answer {
    const judgement = meter.judgeStranger(exchange.clientAddress);
    const fields = limitHeaders(judgement);
    try {
      assertAdmitted(judgement);
    } catch (reason) {
      return refusalAnswer(reason, fields);
    }
    return { status: 204, header: new Headers([...fields, ...cors.preflightHeaders(exchange)]) };
  }

  return async (exchange) => {
    try {
      await route(exchange);
    } catch (reason) {
      logger.error({ err: reason, path: exchange.path }, "a request failed outside of any call");
      await exchange.respond(refusalAnswer(reason));
    }
  };
}

function nothingHere(): DomainError {
  return new DomainError("ROUTE_NOT_FOUND", "There is nothing at this path. The API is under /v1.");
}
