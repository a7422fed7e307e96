/** The statuses that an order can have. */
export const orderStatuses = ["placed", "approved", "delivered"] as const;

export type OrderStatus = (typeof orderStatuses)[number];

/** One order for a pet. */
export interface Order {
  readonly id: bigint;
  readonly petId: bigint;
  readonly quantity: bigint;
  /** Milliseconds since the Unix epoch. */
  readonly shipDateMs: number;
  readonly status: OrderStatus;
  readonly complete: boolean;
}
