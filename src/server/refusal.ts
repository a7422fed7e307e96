import type { Answer } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { errorToRest, toConnectError } from "../interceptors/errors.ts";

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
