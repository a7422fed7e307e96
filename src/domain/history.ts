import { crc32 } from "node:zlib";
import { cursorExpired, invalidRequest } from "./errors.ts";

/** What has changed a stock entry. */
export const changeKinds = ["set", "adjust", "import", "hold"] as const;

export type ChangeKind = (typeof changeKinds)[number];

/** One write of a stock entry. Source: docs/contract.md#history */
export interface StockChange {
  /** Counts 1, 2, 3 … without a gap, in the order of commits. */
  readonly revision: bigint;
  readonly petId: bigint;
  /** Undefined for a pet that is new. */
  readonly before: bigint | undefined;
  readonly after: bigint;
  readonly kind: ChangeKind;
  readonly reason: string | undefined;
  readonly reference: string | undefined;
  /** Undefined where a command has made the change, as is `requestId`. */
  readonly keyId: string | undefined;
  readonly requestId: string | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly occurredAtMs: number;
}

/** How far the history of a store goes. */
export interface HistoryBounds {
  /** Differs for each store, and for each copy of one. Twelve hexadecimal digits. */
  readonly lineage: string;
  /** The revision of the newest change; 0 before the first one. */
  readonly head: bigint;
  /** The revision of the oldest change that is kept; `head + 1` where none is. */
  readonly oldest: bigint;
}

/**
 * Returns the time from which changes are part of the history, in milliseconds since the Unix epoch. An infinite
 * `retentionMs` keeps all changes. Source: docs/contract.md#history
 */
export function keptSinceMs(retentionMs: number, nowMs: number): number {
  return Math.max(0, nowMs - retentionMs);
}

/** How often a stream reports its position, in milliseconds. Source: docs/contract.md#watching */
export const heartbeatMs = 15_000;

/** Selects changes of the history. */
export interface ChangeQuery {
  /** Only changes with a higher revision. */
  readonly after: bigint;
  /** Only changes with a lower revision; undefined for no such bound. */
  readonly before?: bigint | undefined;
  /** Only changes of these pets; empty for all. */
  readonly petIds: readonly bigint[];
  /** Only changes that take the stock count from above this number to this number or below it. */
  readonly crossing?: bigint | undefined;
  readonly newestFirst: boolean;
  /** At least 1. */
  readonly limit: number;
}

/** Whether the filter of a query selects a change. Bounds and limit are not checked. */
export function selects({ petIds, crossing }: Pick<ChangeQuery, "petIds" | "crossing">, change: StockChange): boolean {
  const { petId, before, after } = change;
  const crosses = crossing === undefined || (before !== undefined && before > crossing && crossing >= after);
  return crosses && (petIds.length === 0 || petIds.includes(petId));
}

/** Some of the selected changes, in the order asked for. */
export interface ChangePage {
  /** At most `limit`; fewer if a longer search would take too long. */
  readonly changes: readonly StockChange[];
  /** The revision up to which the history was searched; undefined where it was searched to its end. */
  readonly searchedTo: bigint | undefined;
}

/** Whether the change that follows a revision is still kept, or comes later. */
export function isNextKept(revision: bigint, { oldest }: Pick<HistoryBounds, "oldest">): boolean {
  return revision + 1n >= oldest;
}

/*
 * cursor = base64url( version:1 check:4 lineage:6 revision:8 ), the numbers big-endian
 * check  = the CRC-32 of what follows it
 */
const version = 1;
const checkStart = 1;
const lineageStart = 5;
const revisionStart = 11;
const byteLength = 19;

/** Makes the cursor of a revision. It stands for this change and all changes before it. */
export function issueCursor(lineage: string, revision: bigint): string {
  const bytes = Buffer.alloc(byteLength);
  bytes.writeUInt8(version, 0);
  bytes.write(lineage, lineageStart, "hex");
  bytes.writeBigInt64BE(revision, revisionStart);
  bytes.writeUInt32BE(crc32(bytes.subarray(lineageStart)), checkStart);
  return bytes.toString("base64url");
}

/**
 * Returns the revision of a cursor. Throws `INVALID_REQUEST` for a text that is not exactly what `issueCursor` makes.
 * Throws `CURSOR_EXPIRED` for a cursor of another history, and for one whose next change is no longer kept.
 */
export function parseCursor(cursor: string, bounds: HistoryBounds): bigint {
  const bytes = Buffer.from(cursor, "base64url");
  const revision = bytes.length === byteLength ? bytes.readBigInt64BE(revisionStart) : -1n;
  const issuedBy = bytes.toString("hex", lineageStart, revisionStart);
  if (revision < 0n || issueCursor(issuedBy, revision) !== cursor) {
    const description = "must be a cursor as it was answered";
    throw invalidRequest(`after: ${description}.`, [{ field: "after", description }]);
  }
  if (issuedBy !== bounds.lineage || revision > bounds.head || !isNextKept(revision, bounds)) {
    throw cursorExpired();
  }
  return revision;
}
