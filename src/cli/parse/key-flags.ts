import { type Plan, plans, type Quota, scopes } from "../../domain/key.ts";
import { usageFailure } from "../failure.ts";
import { argument, listArgument } from "./argument.ts";
import { durationForm, parseDuration } from "./duration.ts";
import { parseWholeNumber } from "./number.ts";

/*
 * The flags of the commands that create and update keys.
 */

const maxNameLength = 100;

/** Reads the name of a key, which may be empty. */
export const parseKeyName = argument((text) => {
  const isName = Array.from(text).length <= maxNameLength && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
  return isName ? text : undefined;
}, `${maxNameLength} characters at most, with no line break or other control character`);

/** Reads a number of requests for an enterprise key. */
export const parseLimit = argument((text) => parseWholeNumber(text) || undefined, "a whole number from 1 on");

/** Reads a scope, or several separated by commas. */
export const parseScopes = listArgument(
  (text) => scopes.find((scope) => scope === text),
  `one of ${scopes.join(", ")}`,
);

/** Reads how long a key is valid, in milliseconds. */
export const parseLifetime = argument((text) => parseDuration(text) || undefined, `${durationForm}, and not zero`);

/** The plans, as a sentence names them. */
export const planNames = `${plans.slice(0, -1).join(", ")} or ${plans.at(-1)}`;

/** The flags with the limits of an enterprise key. */
export interface QuotaFlags {
  readonly perMinute?: number;
  readonly perDay?: number;
}

/**
 * The limits of a key on a plan; undefined for a plan whose limits are fixed. `former` is the quota that an enterprise
 * key has so far. Throws a `Failure` for limits that are missing, or not allowed.
 */
export function customQuotaFor(plan: Plan, flags: QuotaFlags, former?: Quota): Quota | undefined {
  if (plan !== "enterprise") {
    if (flags.perMinute === undefined && flags.perDay === undefined) {
      return undefined;
    }
    throw usageFailure(`the limits of the ${plan} plan are fixed: leave out --per-minute and --per-day`);
  }
  const { perMinute = former?.perMinute, perDay = former?.perDay } = flags;
  if (perMinute !== undefined && perDay !== undefined) {
    return { perMinute, perDay };
  }
  throw usageFailure("an enterprise key needs both --per-minute and --per-day");
}
