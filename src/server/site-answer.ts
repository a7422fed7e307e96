import { methodNotAllowed } from "../domain/errors.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { Page } from "../reference/asset.ts";
import { refusalAnswer } from "./refusal.ts";

const allow = "GET, HEAD, OPTIONS";

/** Answers a request for a page of the site, which takes no method but these. */
export function siteAnswer(exchange: Exchange, page: Page): Answer | Promise<Answer> {
  switch (exchange.method) {
    case "GET":
    case "HEAD":
      return page(exchange);
    case "OPTIONS":
      return { status: 204, header: new Headers({ allow }) };
    default:
      exchange.record.code = notAllowed.code;
      return withAllow(refusalAnswer(notAllowed));
  }
}

const notAllowed = methodNotAllowed(allow);

function withAllow(answer: Answer): Answer {
  answer.header.set("allow", allow);
  return answer;
}
