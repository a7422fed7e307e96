import type { HistoryBounds } from "../../domain/history.ts";
import { lesserOf } from "../../domain/ranges.ts";
import type { Connection } from "./connection.ts";

/** The revision of the newest change; 0 before the first one. */
export function headOf(connection: Connection): bigint {
  return connection.get<{ readonly head: bigint }>(`SELECT ifnull(max(revision), 0) AS head FROM changes`)?.head ?? 0n;
}

/** The revision up to which all changes have been applied to the stock. */
export function appliedRevision(connection: Connection): bigint {
  return connection.get<{ applied: bigint }>(`SELECT applied_revision AS applied FROM history`)?.applied ?? 0n;
}

/** The revision of the oldest change that has not been deleted; 1 before the first one. */
export function oldestRevision(connection: Connection): bigint {
  return connection.get<{ oldest: bigint }>(`SELECT ifnull(min(revision), 1) AS oldest FROM changes`)?.oldest ?? 1n;
}

/** How far the history goes. Changes before `keptSinceMs` are no longer part of it. */
export function historyBounds(connection: Connection, keptSinceMs: number): HistoryBounds {
  return connection.inSnapshot(() => {
    const row = connection.get<Pick<HistoryBounds, "lineage" | "head">>(
      `SELECT lineage, (SELECT ifnull(max(revision), 0) FROM changes) AS head FROM history`,
    );
    const { lineage, head } = row ?? { lineage: "", head: 0n };
    return { lineage, head, oldest: findOldest(connection, keptSinceMs) };
  });
}

/**
 * Finds the revision of the first change that was made at a time or after it. If clocks were set back, changes may not be
 * in the order of time: the result is then one of several such changes. To be called in a transaction.
 */
function findOldest(connection: Connection, keptSinceMs: number): bigint {
  const isKept = (revision: bigint) => timeOf(connection, revision) >= keptSinceMs;
  return findFirst(oldestRevision(connection), headOf(connection) + 1n, isKept);
}

/** The time of a change, in milliseconds since the Unix epoch. */
export function timeOf(connection: Connection, revision: bigint): number {
  const row = connection.get<{ at: bigint }>(`SELECT occurred_at_ms AS at FROM changes WHERE revision = ?`, revision);
  return row === undefined ? -Infinity : Number(row.at);
}

/**
 * Finds the first of some revisions from which on a condition holds: in growing steps from `start` on, and then by
 * bisection. Returns `end` where it holds for none before that.
 */
export function findFirst(start: bigint, end: bigint, holds: (revision: bigint) => boolean): bigint {
  let low = start;
  let high = end;
  let width = 0n;
  while (low < high) {
    const probe = lesserOf(low + width, (low + high) / 2n);
    if (holds(probe)) {
      high = probe;
    } else {
      width = 2n * (probe - low) + 1n;
      low = probe + 1n;
    }
  }
  return low;
}
