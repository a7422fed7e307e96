import { STATUS_CODES } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { Occurrence } from "../../gen/petstore/options/v1/error_status_pb.ts";
import { commonHeaders, refer, retryAfterUnless } from "./headers.ts";
import type { Reason } from "./reasons.ts";
import type { Reference, Response, Schema } from "./types.ts";

/** The responses that operations share. The first of several equal ones becomes a component; the others refer to it. */
export class Responses {
  readonly #components = new Map<string, Response>();

  get components(): Readonly<Record<string, Response>> {
    return Object.fromEntries(this.#components);
  }

  /** A reference to a response that is the component of its status, or becomes it; otherwise the response itself. */
  share(status: number, response: Response): Reference | Response {
    const name = (STATUS_CODES[status] ?? String(status)).replaceAll(/[^A-Za-z]/g, "");
    const present = this.#components.get(name);
    if (present === undefined) {
      this.#components.set(name, response);
    }
    return present === undefined || isDeepStrictEqual(present, response)
      ? { $ref: `#/components/responses/${name}` }
      : response;
  }
}

/** The answer to requests that fail with a status, for one of these reasons. `error` is the schema of its body. */
export function failure(reasons: readonly Reason[], error: Schema, headers: Response["headers"] = {}): Response {
  const status = reasons[0]?.status ?? 500;
  const examples = reasons.map(({ code, meaning, remedy }) => [
    code,
    { summary: meaning, value: { code, message: `${meaning} ${remedy}`.replace(/\s+/g, " "), status } },
  ]);
  return {
    description: reasons.map(describe).join("\n\n"),
    headers: { ...commonHeaders, ...headersOf(status, reasons), ...headers },
    content: { "application/json": { schema: error, examples: Object.fromEntries(examples) } },
  };
}

function describe({ code, meaning, remedy }: Reason): string {
  return `\`${code}\`: ${meaning} ${remedy}`;
}

/** The headers that only failures of this status have. */
function headersOf(status: number, reasons: readonly Reason[]): Response["headers"] {
  switch (status) {
    case 401:
    case 403:
      return refer("WWW-Authenticate");
    case 405:
      return refer("Allow");
    case 415:
      return refer("Accept", "Accept-Patch", "Accept-Encoding");
    case 429:
      // A refusal that only some methods name is no rate limit: to wait does not help.
      return retryAfterUnless(reasons.flatMap(({ code, occurrence }) => (occurrence === Occurrence.NAMED ? code : [])));
    default:
      return {};
  }
}
