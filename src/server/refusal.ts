import type { Answer } from "../http/exchange.ts";
import { errorToRest, toConnectError } from "../interceptors/errors.ts";

/** A failed answer, whole. */
export interface Refusal extends Answer {
  readonly body: Buffer;
  /** The code that the body tells. */
  readonly code: string;
}

/** The answer to what is refused outside of any call: the Error body of REST. */
export function refusalAnswer(reason: unknown): Refusal {
  const { status, body } = errorToRest(toConnectError(reason));
  const header = new Headers([["content-type", "application/json"]]);
  return { status, header, body: Buffer.from(JSON.stringify(body)), code: body.code };
}
