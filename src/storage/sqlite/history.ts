import { type ChangePage, type ChangeQuery, changeKinds, type StockChange } from "../../domain/history.ts";
import { greaterOf, lesserOf } from "../../domain/ranges.ts";
import { searchPets, searchRevisions } from "./change-search.ts";
import { readEnumText, readInteger } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import { headOf, oldestRevision } from "./history-bounds.ts";

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
