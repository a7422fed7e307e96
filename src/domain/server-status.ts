import type { RegisteredServer } from "./store.ts";

/** What a server's operator port answers at `/status`, as JSON. */
export interface ServerStatus {
  readonly version: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly url: string;
  readonly opsUrl: string;
  readonly ready: boolean;
  readonly db: StoreStatus;
  /** Since the start, and the average of the last minute. */
  readonly calls: { readonly total: number; readonly perSecond1m: number; readonly failed: number };
  /** Since the start. */
  readonly limits: {
    readonly admitted: number;
    readonly refused: number;
    readonly banned: number;
    /** Where limits are counted for all servers; absent where they are counted in memory. */
    readonly shared?: SharedLimitsStatus;
  };
  /** The streams of keys; absent from older servers. */
  readonly streams?: StreamsStatus;
  /** Absent from older servers. */
  readonly webhooks?: WebhooksStatus;
  /** The number of keys on each plan. */
  readonly keys: { readonly byPlan: Readonly<Record<string, number>> };
  /** The servers that share the store; absent for a store of one server. */
  readonly servers?: readonly ServerEntry[];
  readonly logLevel: string;
}

/** Limits that Valkey counts. */
export interface SharedLimitsStatus {
  readonly url: string;
  /** `local` or `refuse`. */
  readonly fallback: string;
  /** Since when Valkey does not answer, in RFC 3339, and why; null while it does. */
  readonly away: { readonly since: string; readonly reason: string } | null;
  /** How many requests this server has decided on by itself. */
  readonly countedLocally: number;
}

export interface StreamsStatus {
  readonly open: number;
  /** How many may be open. */
  readonly most: number;
  /** How many keys have as many open as a key may. */
  readonly keysAtMost: number;
  /** Since the start. */
  readonly refused: number;
}

/** How many webhooks there are, and how old the oldest change is that waits for its delivery. */
export interface WebhooksStatus {
  readonly active: number;
  readonly failing: number;
  readonly paused: number;
  readonly lagSeconds: number;
}

/** A server that uses the same store. Times are RFC 3339. */
export interface ServerEntry {
  /** `host/pid/` and random digits; a UUID for servers before 0.6.13. */
  readonly id: string;
  readonly version: string;
  readonly startedAt: string;
  readonly lastSeenAt: string;
  /** True for the server that answers, and absent for others. */
  readonly self?: true;
}

/** The store of a server. A store without files has no sizes, and neither has one that does not answer. */
export interface StoreStatus {
  readonly path: string;
  readonly fileBytes?: number;
  readonly walBytes?: number;
  /** What is free on the disk of the files. */
  readonly freeBytes?: number;
  /** RFC 3339; null when there was no backup. */
  readonly lastBackupAt?: string | null;
  /** Why the store does not answer; absent while it does. */
  readonly error?: string;
}

/** How the status shows a server. */
export function entryOfServer({ id, version, startedAtMs, lastSeenAtMs, isSelf }: RegisteredServer): ServerEntry {
  const startedAt = new Date(startedAtMs).toISOString();
  const lastSeenAt = new Date(lastSeenAtMs).toISOString();
  return { id, version, startedAt, lastSeenAt, ...(isSelf && { self: true }) };
}
