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
