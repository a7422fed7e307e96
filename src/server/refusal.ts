import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { errorToRest, toConnectError } from "../interceptors/errors.ts";
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
