import type { Plan, Quota } from "../../domain/plan.ts";
import { usageFailure } from "../failure.ts";

/** The flags that give an enterprise key its numbers. */
export interface QuotaFlags {
  readonly perMinute?: number;
  readonly perDay?: number;
}

/**
 * The numbers of a key on a plan; undefined on the plans whose limits are fixed. `former` is what an enterprise key has
 * so far. Throws a `Failure` for numbers that are missing, or out of place.
 */
export function customQuotaFor(plan: Plan, flags: QuotaFlags, former?: Quota): Quota | undefined {
  if (plan !== "enterprise") {
    if (flags.perMinute === undefined && flags.perDay === undefined) {
      return undefined;
    }
    throw usageFailure(`the limits of the ${plan} plan are fixed: leave --per-minute and --per-day out`);
  }
  const { perMinute = former?.perMinute, perDay = former?.perDay } = flags;
  if (perMinute !== undefined && perDay !== undefined) {
    return { perMinute, perDay };
  }
  throw usageFailure("an enterprise key needs both --per-minute and --per-day");
}
