import {
  type ChangePage,
  type ChangeQuery,
  changeKinds,
  type HistoryBounds,
  type StockChange,
} from "../../domain/history.ts";
import { greaterOf, lesserOf } from "../../domain/ranges.ts";
import { searchRevisions } from "./change-search.ts";
import { readEnumText, readInteger } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import { searchPets } from "./pet-history.ts";
import { headOf, lineageOf } from "./stock.ts";

interface ChangeRow {
  readonly revision: bigint;
  readonly pet_id: bigint;
  readonly before: bigint | null;
  readonly after: bigint;
  readonly kind: string;
  readonly reason: string | null;
  readonly reference: string | null;
  readonly key_id: string | null;
  readonly request_id: string | null;
  readonly occurred_at_ms: bigint;
}

/** The revision of the oldest change that has not been deleted; 1 before the first one. */
export function oldestRevision(connection: Connection): bigint {
  return connection.get<{ oldest: bigint }>(`SELECT ifnull(min(revision), 1) AS oldest FROM changes`)?.oldest ?? 1n;
}

export function historyBounds(connection: Connection, keptSinceMs: number): HistoryBounds {
  return connection.asOfOneMoment(() => {
    return { lineage: lineageOf(connection), head: headOf(connection), oldest: findOldest(connection, keptSinceMs) };
  });
}

/**
 * The revision of the first change that was made at a time or after it, by bisection: clocks that were set back may
 * have left changes out of the order of time. To be called in a transaction.
 */
export function findOldest(connection: Connection, keptSinceMs: number): bigint {
  let low = oldestRevision(connection);
  let high = headOf(connection) + 1n;
  while (low < high) {
    const middle = (low + high) / 2n;
    const row = connection.get<{ at: bigint }>(`SELECT occurred_at_ms AS at FROM changes WHERE revision = ?`, middle);
    if (row === undefined || Number(row.at) < keptSinceMs) {
      low = middle + 1n;
    } else {
      high = middle;
    }
  }
  return low;
}

/** Throws `PET_NOT_FOUND`. */
export function listChanges(connection: Connection, query: ChangeQuery): ChangePage {
  return connection.asOfOneMoment(() => {
    const head = headOf(connection);
    const range = {
      low: greaterOf(query.after, oldestRevision(connection) - 1n),
      high: query.before === undefined ? head : lesserOf(query.before - 1n, head),
    };
    const search = query.petIds.length > 0 ? searchPets : searchRevisions;
    const { revisions, reached } = search(connection, query, range);
    const changes = readChanges(connection, revisions, query.newestFirst);
    const searchedTo = changes.length < query.limit ? reached : (changes.at(-1)?.revision ?? reached);
    const isAtEnd = query.newestFirst ? searchedTo <= range.low + 1n : searchedTo >= range.high;
    return { changes, searchedTo: isAtEnd ? undefined : searchedTo };
  });
}

function readChanges(connection: Connection, revisions: readonly bigint[], newestFirst: boolean): StockChange[] {
  const rows = connection.all<ChangeRow>(
    `SELECT * FROM changes WHERE revision IN (SELECT value FROM json_each(?))
     ORDER BY revision ${newestFirst ? "DESC" : "ASC"}`,
    `[${revisions.join(",")}]`,
  );
  return rows.map(changeFromRow);
}

function changeFromRow(row: ChangeRow): StockChange {
  return {
    revision: row.revision,
    petId: readInteger(row.pet_id),
    before: row.before ?? undefined,
    after: readInteger(row.after),
    kind: readEnumText(row.kind, changeKinds),
    reason: row.reason ?? undefined,
    reference: row.reference ?? undefined,
    keyId: row.key_id ?? undefined,
    requestId: row.request_id ?? undefined,
    occurredAtMs: Number(readInteger(row.occurred_at_ms)),
  };
}
