/** The type of a column, whatever a backend makes of it. */
export type ColumnType = "integer" | "boolean" | "text" | "bytes" | "texts" | "integers";

/** A value of such a column. */
export type CopiedValue = bigint | boolean | string | Uint8Array | readonly string[] | readonly bigint[] | null;

/** The values of a table's columns, in their order. */
export type CopiedRow = readonly CopiedValue[];

/** A table that every backend has, with the columns that mean the same in all of them. */
export interface CopiedTable {
  readonly name: string;
  /** The columns that tell rows apart, in whose order they are read. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ColumnType>>;
}

/** What a store keeps besides its tables. */
export interface StoreHead {
  readonly lineage: string;
  /** The position of the newest hold that there has ever been; 0 before the first one. */
  readonly holdPosition: bigint;
}

/**
 * What a copy moves, in an order in which no row names another one that is still missing. Left out is what follows from
 * the rest, and what concerns servers that run, because none does: their registrations, claims and counts of changes,
 * and which of their saves of usage they repeat. The record of the last backup stays with the store that it is of.
 */
export const copiedTables: readonly CopiedTable[] = [
  {
    name: "pets",
    key: ["id"],
    columns: { id: "integer", name: "text", category: "text", photo_urls: "texts", tags: "texts" },
  },
  {
    name: "stock",
    key: ["pet_id"],
    columns: { pet_id: "integer", quantity: "integer", revision: "integer", held: "integer", status: "text" },
  },
  {
    name: "changes",
    key: ["revision"],
    columns: {
      revision: "integer",
      pet_id: "integer",
      before: "integer",
      after: "integer",
      kind: "text",
      reason: "text",
      reference: "text",
      key_id: "text",
      request_id: "text",
      occurred_at_ms: "integer",
    },
  },
  {
    name: "holds",
    key: ["position"],
    columns: {
      position: "integer",
      id: "text",
      pet_id: "integer",
      quantity: "integer",
      reference: "text",
      state: "text",
      created_at_ms: "integer",
      expires_at_ms: "integer",
      ended_at_ms: "integer",
      key_id: "text",
    },
  },
  {
    name: "idempotency_records",
    key: ["key_id", "idempotency_key"],
    columns: {
      key_id: "text",
      idempotency_key: "text",
      fingerprint: "bytes",
      result: "text",
      created_at_ms: "integer",
    },
  },
  {
    name: "orders",
    key: ["id"],
    columns: {
      id: "integer",
      pet_id: "integer",
      quantity: "integer",
      ship_date_ms: "integer",
      status: "text",
      complete: "boolean",
    },
  },
  {
    name: "keys",
    key: ["number"],
    columns: {
      number: "integer",
      id: "text",
      name: "text",
      plan: "text",
      per_minute: "integer",
      per_day: "integer",
      scopes: "texts",
      created_at_ms: "integer",
      expires_at_ms: "integer",
      revoked_at_ms: "integer",
      unbans: "integer",
    },
  },
  {
    name: "secrets",
    key: ["hash"],
    columns: { hash: "bytes", key_id: "text", expires_at_ms: "integer" },
  },
  {
    name: "usage",
    key: ["key_id"],
    columns: {
      key_id: "text",
      minute_opened_at_ms: "integer",
      minute_count: "integer",
      day_opened_at_ms: "integer",
      day_count: "integer",
      refusals_opened_at_ms: "integer",
      refusals_count: "integer",
      ban_step: "integer",
      ban_ends_at_ms: "integer",
      unbans: "integer",
      last_used_at_ms: "integer",
    },
  },
  {
    name: "deprecated_calls",
    key: ["key_id", "method"],
    columns: { key_id: "text", method: "text", last_called_at_ms: "integer" },
  },
  {
    name: "webhooks",
    key: ["number"],
    columns: {
      number: "integer",
      id: "text",
      url: "text",
      pet_ids: "integers",
      crossing: "integer",
      created_at_ms: "integer",
      secret: "text",
      former_secret: "text",
      former_secret_ends_ms: "integer",
      paused: "text",
      paused_at_ms: "integer",
      position: "integer",
      delivering_up_to: "integer",
      failures: "integer",
      failing_since_ms: "integer",
      next_attempt_at_ms: "integer",
    },
  },
  {
    name: "webhook_attempts",
    key: ["number"],
    columns: {
      number: "integer",
      webhook_id: "text",
      delivery_id: "text",
      at_ms: "integer",
      duration_ms: "integer",
      changes: "integer",
      status: "integer",
      fault: "text",
    },
  },
];
