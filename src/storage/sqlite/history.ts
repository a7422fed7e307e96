import { petNotFound } from "../../domain/errors.ts";
import { type ChangePage, type ChangeQuery, changeKinds, type StockChange } from "../../domain/history.ts";
import { idempotencyMs } from "../../domain/idempotency.ts";
import { greaterOf, lesserOf } from "../../domain/ranges.ts";
import { type Connection, readEnumText, readInteger, type Value } from "./connection.ts";
import { appliedRevision, findFirst, headOf, oldestRevision, timeOf } from "./history-bounds.ts";
import { noteExpired } from "./holds.ts";
import { applyUpTo, changesPerMark, findStock } from "./stock.ts";

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
  return connection.inSnapshot(() => {
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

/** The most revisions that one call goes through: a millisecond or two. */
const maxSearched = 10_000n;

/** The revisions above `low`, and up to `high`. */
interface RevisionRange {
  readonly low: bigint;
  readonly high: bigint;
}

/** What a search of the history has found. */
interface Search {
  /** The revisions of the changes, in the order asked for. */
  readonly revisions: readonly bigint[];
  /** The last revision that was searched, in this order. */
  readonly reached: bigint;
}

/** A condition on rows of `changes`, and its values. */
interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** The condition that `crossing` sets on a change. */
function matchesOf(crossing: bigint | undefined): Condition {
  return crossing === undefined
    ? { sql: "true", values: [] }
    : { sql: "(before > ? AND after <= ?)", values: [crossing, crossing] };
}

/**
 * Searches the next revisions. Without a filter it reads no more than `limit` of them, because revisions have no gap.
 */
function searchRevisions(
  connection: Connection,
  { petIds, crossing, limit, newestFirst }: ChangeQuery,
  range: RevisionRange,
): Search {
  const isFiltered = crossing !== undefined || petIds.length > 0;
  const count = isFiltered ? maxSearched : lesserOf(BigInt(limit), maxSearched);
  const low = newestFirst ? greaterOf(range.low, range.high - count) : range.low;
  const high = newestFirst ? range.high : lesserOf(range.high, range.low + count);
  const matches = matchesOf(crossing);
  const ofPets = petIds.length === 0 ? "true" : "pet_id IN (SELECT value FROM json_each(?))";
  const rows = connection.all<{ revision: bigint }>(
    `SELECT revision FROM changes WHERE revision > ? AND revision <= ? AND ${matches.sql} AND ${ofPets}
     ORDER BY revision ${newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    low,
    high,
    ...matches.values,
    ...(petIds.length === 0 ? [] : [`[${petIds.join(",")}]`]),
    BigInt(limit),
  );
  return { revisions: rows.map(({ revision }) => revision), reached: newestFirst ? low + 1n : high };
}

/*
 * Each change names the pet's change before it, so a pet's history can only be walked backwards. To go forwards, a search
 * jumps to the pet's next mark, or to its last change, and walks back to where it was: at most `changesPerMark` steps.
 */

/**
 * A search ends after this many steps, with what it has found. They take a few milliseconds, and can fill a whole page.
 */
const maxSteps = 1_000;

/** The most pets whose changes are walked pet by pet. For more pets it is quicker to search all changes. */
const maxWalked = 8;

/** Finds the next changes of some pets in a range. Throws `PET_NOT_FOUND`. To be called in a transaction. */
function searchPets(connection: Connection, query: ChangeQuery, range: RevisionRange): Search {
  const pets = [...new Set(query.petIds)].map((petId) => ({ petId, head: lastChangeOf(connection, petId) }));
  const start = query.newestFirst ? range.high : range.low;
  if (pets.filter(({ head }) => head > start).length > maxWalked) {
    return searchRevisions(connection, query, range);
  }
  const revisions = new PetRevisions(connection, query.crossing);
  return query.newestFirst
    ? searchBackwards(revisions, pets, { ...range, limit: query.limit })
    : searchForwards(revisions, pets, { ...range, limit: query.limit });
}

interface PetHead {
  readonly petId: bigint;
  /** The revision of the pet's last change; 0 for none. */
  readonly head: bigint;
}

interface Wanted extends RevisionRange {
  readonly limit: number;
}

function searchForwards(revisions: PetRevisions, pets: readonly PetHead[], { low, high, limit }: Wanted): Search {
  const searches = pets.map((pet) => ({ ...pet, reached: low }));
  const found: bigint[] = [];
  for (;;) {
    const open = searches.filter(({ head, reached }) => reached < head && reached < high);
    const reached = open.map((search) => search.reached).reduce(lesserOf, high);
    const known = found.filter((revision) => revision <= reached);
    if (open.length === 0 || known.length >= limit || revisions.steps >= maxSteps) {
      return { revisions: known.sort(ascending).slice(0, limit), reached };
    }
    for (const search of open.filter((each) => each.reached === reached)) {
      const start = revisions.markFrom(search.petId, reached + 1n) ?? search.head;
      found.push(...revisions.walk(start, { low: reached }).matches);
      search.reached = start;
    }
  }
}

function searchBackwards(revisions: PetRevisions, pets: readonly PetHead[], { low, high, limit }: Wanted): Search {
  const searches = pets.map(({ petId, head }) => ({
    next: head <= high ? head : (revisions.markFrom(petId, high) ?? head),
  }));
  const found: bigint[] = [];
  for (;;) {
    const [newest, next] = searches.reduce<[{ next: bigint } | undefined, bigint]>(
      (best, search) => (search.next > best[1] ? [search, search.next] : best),
      [undefined, low],
    );
    const known = found.filter((revision) => revision > next && revision <= high);
    if (newest === undefined || known.length >= limit || revisions.steps >= maxSteps) {
      return { revisions: known.sort(ascending).reverse().slice(0, limit), reached: next + 1n };
    }
    const walked = revisions.walk(next, { low, maxSteps: changesPerMark });
    found.push(...walked.matches);
    newest.next = walked.next;
  }
}

function ascending(a: bigint, b: bigint): number {
  return a < b ? -1 : 1;
}

function lastChangeOf(connection: Connection, petId: bigint): bigint {
  const stock = findStock(connection, petId);
  if (stock === undefined) {
    throw petNotFound(petId);
  }
  return stock.revision;
}

interface StepRow {
  readonly revision: bigint;
  readonly previous: bigint;
  readonly matches: bigint | null;
}

/** Walks from one change of a pet to the one before, and counts the steps. */
class PetRevisions {
  readonly #connection: Connection;
  readonly #matches: Condition;
  steps = 0;

  constructor(connection: Connection, crossing: bigint | undefined) {
    this.#connection = connection;
    this.#matches = matchesOf(crossing);
  }

  /** The first mark of a pet from a revision on. */
  markFrom(petId: bigint, revision: bigint): bigint | undefined {
    return this.#connection.get<{ revision: bigint }>(
      `SELECT revision FROM change_marks WHERE pet_id = ? AND revision >= ? ORDER BY revision LIMIT 1`,
      petId,
      revision,
    )?.revision;
  }

  /**
   * Walks back from a change, over the changes above `low`. Returns the revisions of those that match, and the revision
   * at which the walk goes on: `low` where no change above it is left.
   */
  walk(
    start: bigint,
    { low, maxSteps: limit = -1 }: { readonly low: bigint; readonly maxSteps?: number },
  ): { readonly matches: readonly bigint[]; readonly next: bigint } {
    const { sql, values } = this.#matches;
    const rows = this.#connection.all<StepRow>(
      `WITH RECURSIVE walk (revision, previous, matches) AS (
         SELECT revision, previous, ${sql} FROM changes WHERE revision = ?
         UNION ALL
         SELECT changes.revision, changes.previous, ${sql}
         FROM walk CROSS JOIN changes ON changes.revision = walk.previous WHERE walk.previous > ?
         LIMIT ?
       )
       SELECT * FROM walk`,
      ...values,
      start,
      ...values,
      low,
      BigInt(limit),
    );
    this.steps += rows.length;
    const isCut = rows.length === limit;
    return {
      matches: rows.filter(({ matches }) => matches === 1n).map(({ revision }) => revision),
      next: isCut ? (rows.at(-1)?.previous ?? low) : low,
    };
  }
}

/** The most rows of a kind that one step deletes: twice what a batch may write, in some 10 ms. */
const rowsPerStep = 2_000n;

/** When rows are outdated. */
interface Age {
  readonly keptSinceMs: number;
  readonly nowMs: number;
}

/** Rows of one kind. Both functions are called in a transaction. */
interface OutdatedRows {
  /** Whether there are any. */
  readonly exist: (connection: Connection, age: Age) => boolean;
  /** Deletes some. */
  readonly delete: (connection: Connection, age: Age) => void;
}

const outdatedRows = {
  /** Holds that are over are stored as expired, so that they are deleted when it is time. */
  holds: {
    exist: (connection, { keptSinceMs, nowMs }) =>
      connection.get(
        `SELECT 1 WHERE
           EXISTS (SELECT 1 FROM holds INDEXED BY holds_by_expiry WHERE state = 'held' AND expires_at_ms <= ?)
           OR EXISTS (SELECT 1 FROM holds WHERE ended_at_ms < ?)`,
        nowMs,
        keptSinceMs,
      ) !== undefined,
    delete: (connection, { keptSinceMs, nowMs }) => {
      noteExpired(connection, nowMs, rowsPerStep);
      connection.run(
        `DELETE FROM holds WHERE position IN (
           SELECT position FROM holds WHERE ended_at_ms < ? ORDER BY ended_at_ms LIMIT ?)`,
        keptSinceMs,
        rowsPerStep,
      );
    },
  },
  idempotencyRecords: {
    exist: (connection, { nowMs }) =>
      connection.get(`SELECT 1 FROM idempotency_records WHERE created_at_ms <= ?`, nowMs - idempotencyMs) !== undefined,
    delete: (connection, { nowMs }) =>
      connection.run(
        `DELETE FROM idempotency_records WHERE (key_id, idempotency_key) IN (
           SELECT key_id, idempotency_key FROM idempotency_records WHERE created_at_ms <= ?
           ORDER BY created_at_ms LIMIT ?)`,
        nowMs - idempotencyMs,
        rowsPerStep,
      ),
  },
  changes: {
    exist: (connection, age) => lastOutdated(connection, age) !== undefined,
    delete: deleteChanges,
  },
} as const satisfies Readonly<Record<string, OutdatedRows>>;

/** A kind of rows that become outdated. Rows that cannot be deleted leave those of other kinds alone. */
type OutdatedKind = keyof typeof outdatedRows;

/** Of which kinds there are outdated rows. To be called in a transaction. */
export function findOutdated(connection: Connection, age: Age): OutdatedKind[] {
  const kinds = Object.keys(outdatedRows) as OutdatedKind[];
  return kinds.filter((kind) => outdatedRows[kind].exist(connection, age));
}

/** Deletes some outdated rows of one kind. Returns whether there are more. See `StockStore.deleteOutdated`. */
export function deleteOutdated(connection: Connection, kind: OutdatedKind, age: Age): boolean {
  return connection.atomically(() => {
    outdatedRows[kind].delete(connection, age);
    return outdatedRows[kind].exist(connection, age);
  });
}

function deleteChanges(connection: Connection, age: Age): void {
  const last = lastOutdated(connection, age);
  if (last === undefined) {
    return;
  }
  if (last > appliedRevision(connection)) {
    applyUpTo(connection, last);
  }
  connection.run(
    `DELETE FROM change_marks WHERE (pet_id, revision) IN (SELECT pet_id, revision FROM changes WHERE revision <= ?)`,
    last,
  );
  connection.run(`DELETE FROM changes WHERE revision <= ?`, last);
}

/**
 * The last of the changes that the next step deletes. They are all before the first change that is to be kept: a clock
 * that was behind for a moment makes no change outdated but those of this moment. The time of a clock that was ahead
 * tells nothing, so such a change is deleted with an outdated one after it. Where all changes of a step are dated ahead,
 * those after the last such one tell. The newest change is kept for ever: the next revision is counted from it.
 */
function lastOutdated(connection: Connection, { keptSinceMs, nowMs }: Age): bigint | undefined {
  const [oldest, head] = [oldestRevision(connection), headOf(connection)];
  const stepEnd = lesserOf(oldest + rowsPerStep, head);
  const tells = connection.get(`SELECT 1 FROM changes WHERE revision < ? AND occurred_at_ms <= ?`, stepEnd, nowMs);
  const start =
    tells === undefined ? findFirst(stepEnd, head, (revision) => timeOf(connection, revision) <= nowMs) : oldest;
  const end = lesserOf(start + rowsPerStep, head);
  const row = connection.get<{ last: bigint | null }>(
    `SELECT max(revision) AS last FROM changes WHERE occurred_at_ms < ? AND revision >= ? AND revision < ifnull(
       (SELECT min(revision) FROM changes
        WHERE revision >= ? AND revision < ? AND occurred_at_ms >= ? AND occurred_at_ms <= ?), ?)`,
    keptSinceMs,
    start,
    start,
    end,
    keptSinceMs,
    nowMs,
    end,
  );
  const last = row?.last ?? undefined;
  return last === undefined ? undefined : lesserOf(last, stepEnd - 1n);
}
