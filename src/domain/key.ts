import { apiKeyExpired, apiKeyRevoked, type DomainError } from "./errors.ts";
import { drawBase62, type RandomBytes } from "./key-secret.ts";

/** How many requests a key may make. */
export interface Quota {
  readonly perMinute: number;
  readonly perDay: number;
}

/** The quotas of the plans that have fixed ones. Source: docs/contract.md#limits */
export const planQuotas = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const satisfies Record<string, Quota>;

/** The plans. The quota of an enterprise key is agreed individually: see `quotaOf`. */
export const plans = ["free", "pro", "business", "enterprise"] as const;

export type Plan = (typeof plans)[number];

/** What a key may be allowed to do. */
export const scopes = ["inventory:read", "inventory:write", "pets:read", "orders:read"] as const;

export type Scope = (typeof scopes)[number];

/** An API key, without its secret, which is never kept. Times are milliseconds since the Unix epoch. */
export interface Key {
  /** `key_` and random letters. It stays when the secret is rotated. */
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** What was agreed for an enterprise key; undefined for the others, which follow their plan, should that change. */
  readonly customQuota: Quota | undefined;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly lastUsedAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** How often the key has been unbanned. A ban from before the last unban is void. */
  readonly unbans: number;
}

/** The fields of a key that can be changed. The others are set at its creation, or follow from its use. */
export type KeySettings = Pick<Key, "name" | "plan" | "customQuota" | "scopes" | "expiresAtMs">;

/** The settings of a key alone. */
export function settingsOf({ name, plan, customQuota, scopes, expiresAtMs }: KeySettings): KeySettings {
  return { name, plan, customQuota, scopes, expiresAtMs };
}

/** A key as found by the hash of a secret. */
export interface FoundKey {
  readonly key: Key;
  /** Set when the secret has been rotated away: the end of its grace, in milliseconds since the Unix epoch. */
  readonly secretExpiresAtMs: number | undefined;
}

/** Draws the id of a new key: `key_` and 16 base62 characters. */
export function mintKeyId(randomBytes: RandomBytes): string {
  return `key_${drawBase62(16, randomBytes)}`;
}

/** The fields that are set when a key is created. */
type NewKey = Pick<Key, "id" | "name" | "plan" | "createdAtMs"> &
  Partial<Pick<Key, "customQuota" | "scopes" | "expiresAtMs">>;

/** A key that was never used; with all scopes and no end, unless others are given. */
export function newKey(settled: NewKey): Key {
  return {
    customQuota: undefined,
    scopes,
    expiresAtMs: undefined,
    lastUsedAtMs: undefined,
    revokedAtMs: undefined,
    unbans: 0,
    ...settled,
  };
}

/** The quota that is in force: the plan's, or an enterprise key's own. */
export function quotaOf({ id, plan, customQuota }: Pick<Key, "id" | "plan" | "customQuota">): Quota {
  if (plan !== "enterprise") {
    return planQuotas[plan];
  }
  if (customQuota === undefined) {
    throw new Error(`the enterprise key ${id} has no quota`);
  }
  return customQuota;
}

/** When a key ends, or the secret that it was found by, in milliseconds since the Unix epoch; infinity for never. */
export function endOf({ key, secretExpiresAtMs }: FoundKey): number {
  return Math.min(key.expiresAtMs ?? Infinity, secretExpiresAtMs ?? Infinity);
}

/**
 * Why a key is not valid at `nowMs`: `API_KEY_REVOKED`, or `API_KEY_EXPIRED` from the millisecond on at which it, or
 * the secret that it was found by, ends. Undefined when it is valid.
 */
export function refusalOf(found: FoundKey, nowMs: number): DomainError | undefined {
  if (found.key.revokedAtMs !== undefined) {
    return apiKeyRevoked();
  }
  return nowMs < endOf(found) ? undefined : apiKeyExpired();
}
