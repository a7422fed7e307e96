import { lastBanStep } from "../../../domain/ban.ts";
import { scopes } from "../../../domain/key.ts";
import { maxTimestampMs, minTimestampMs } from "../../../domain/ranges.ts";
import type { Value } from "../connection.ts";

/** A rule for rows that the schema cannot express. */
export interface Invariant {
  /** What the rule is about, for error messages. */
  readonly subject: string;
  /** Selects a `fault` for each row that breaks the rule. */
  readonly sql: string;
  /** The first version of the schema that has what the rule is about; 1 by default. */
  readonly since?: number;
  readonly values?: readonly Value[];
}

/** The rules that the service relies on, but for those of `stock-invariants.ts` and `webhook-invariants.ts`. */
export const invariants: readonly Invariant[] = [
  {
    subject: "the pets' lists",
    sql: `SELECT 'pet ' || id || ': its photoUrls and tags must be lists of texts' AS fault FROM pets
          WHERE NOT (${isListOfTexts("photo_urls")} AND ${isListOfTexts("tags")})`,
  },
  {
    subject: "the orders' dates",
    sql: `SELECT 'order ' || id || ': its shipDate must be in the years 1 to 9999' AS fault FROM orders
          WHERE ${isImpossibleTime("ship_date_ms")}`,
  },
  {
    subject: "the keys",
    sql: `SELECT 'key ' || id || ': its scopes must be a list of scopes that there are' AS fault FROM keys
          WHERE NOT (${isListOfTexts("scopes")})
             OR EXISTS (SELECT 1 FROM json_each(scopes) WHERE value NOT IN (SELECT value FROM json_each(?)))
          UNION ALL
          SELECT 'key ' || id || ': its limits must be 1 at least' FROM keys WHERE min(per_minute, per_day) < 1
          UNION ALL
          SELECT 'key ' || id || ': its times must be in the years 1 to 9999' FROM keys
          WHERE ${isImpossibleTime("created_at_ms")} OR ${isImpossibleTime("expires_at_ms")} OR ${isImpossibleTime("revoked_at_ms")}
          UNION ALL
          SELECT 'key ' || id || ': it has no secret' FROM keys
          WHERE NOT EXISTS (SELECT 1 FROM secrets WHERE key_id = keys.id)`,
    values: [JSON.stringify(scopes)],
  },
  {
    subject: "the secrets",
    sql: `SELECT 'key ' || key_id || ': the hash of a secret must have 32 bytes' AS fault FROM secrets
          WHERE length(hash) <> 32`,
  },
  {
    subject: "the counters",
    sql: `SELECT 'key ' || key_id || ': a window must have a beginning and a count from 1 on, or neither' AS fault
          FROM usage
          WHERE NOT (${isWindow("minute")} AND ${isWindow("day")} AND ${isWindow("refusals")})
          UNION ALL
          SELECT 'key ' || key_id || ': a ban must have an end and a step from 1 to ${lastBanStep}, or neither' FROM usage
          WHERE (ban_step IS NULL) <> (ban_ends_at_ms IS NULL) OR ban_step NOT BETWEEN 1 AND ${lastBanStep}
          UNION ALL
          SELECT 'key ' || key_id || ': its counters know of more unbans than the key' FROM usage
          JOIN keys ON keys.id = usage.key_id WHERE usage.unbans > keys.unbans`,
  },
];

/** Whether a column has a JSON list of texts. The JSON functions throw for invalid JSON, so `json_valid` comes first. */
export function isListOfTexts(column: string): string {
  return `CASE WHEN json_valid(${column})
            THEN json_type(${column}) = 'array' AND NOT EXISTS (SELECT 1 FROM json_each(${column}) WHERE type <> 'text')
            ELSE false END`;
}

/** Whether a time is outside of the years that a timestamp may have. NULL is inside. */
function isImpossibleTime(column: string): string {
  return `ifnull(${column} NOT BETWEEN ${minTimestampMs} AND ${maxTimestampMs}, false)`;
}

function isWindow(name: string): string {
  return `(${name}_opened_at_ms IS NULL) = (${name}_count IS NULL) AND ifnull(${name}_count >= 1, true)`;
}
