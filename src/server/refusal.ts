import { methodNotAllowed } from "../domain/errors.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { errorToRest, toConnectError } from "../interceptors/errors.ts";
import type { Page } from "../reference/asset.ts";

/** The answer to a request that is refused outside of any call. */
export interface RefusalResponse extends Answer {
  readonly header: HeaderList;
  readonly body: Buffer;
  /** The code that the body tells. */
  readonly code: string;
}

/** Refuses with the Error body of REST. */
export function refusalAnswer(reason: unknown): RefusalResponse {
  const { status, body } = errorToRest(toConnectError(reason));
  const header = new HeaderList();
  header.set("content-type", "application/json");
  return { status, header, body: Buffer.from(JSON.stringify(body)), code: body.code };
}

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
