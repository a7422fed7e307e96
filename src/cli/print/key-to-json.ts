import type { WindowState } from "../../domain/rate-limit-decision.ts";
import type { KeyStanding } from "./key-standing.ts";

/** A key as `keys list --json` prints it: the fields of docs/contract.md#command-line, and what it has used. */
export function keyToJson({ key, limits, deprecatedCalls }: KeyStanding): object {
  return {
    id: key.id,
    name: key.name,
    plan: key.plan,
    scopes: key.scopes,
    createdAt: timeToJson(key.createdAtMs),
    expiresAt: timeToJson(key.expiresAtMs),
    lastUsedAt: timeToJson(key.lastUsedAtMs),
    revokedAt: timeToJson(key.revokedAtMs),
    minute: windowToJson(limits.minute),
    day: windowToJson(limits.day),
    strikes: windowToJson(limits.strikes),
    ban: limits.ban === undefined ? null : { endsAt: timeToJson(limits.ban.endsAtMs), step: limits.ban.step },
    deprecatedCalls: [...deprecatedCalls].map(([operation, lastCalledAtMs]) => ({
      operation,
      lastCalledAt: timeToJson(lastCalledAtMs),
    })),
  };
}

/** A window that nothing has been counted in resets at no time. */
function windowToJson({ limit, remaining, resetAtMs }: WindowState): object {
  return { limit, used: limit - remaining, remaining, resetAt: remaining === limit ? null : timeToJson(resetAtMs) };
}

function timeToJson(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString();
}
