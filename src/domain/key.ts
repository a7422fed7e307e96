import type { Plan, Quota } from "./plan.ts";

/** What a key may be allowed to do. */
export const scopes = ["inventory:read", "inventory:write", "pets:read", "orders:read"] as const;

export type Scope = (typeof scopes)[number];

/** An API key, without its secret, which is never kept. Times are milliseconds since the Unix epoch. */
export interface Key {
  /** `key_` and random letters. It stays when the secret is rotated. */
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** The quota that is in force: the plan's, or the key's own. */
  readonly quota: Quota;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly lastUsedAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** How often the key has been unbanned: a ban that was imposed before the last time is void. */
  readonly unbans: number;
}
