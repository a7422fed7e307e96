import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { ReportProgress } from "../domain/store.ts";

/** Why a store was not copied. The message is one line for the operator, without any password. */
export class CopyError extends Error {
  override readonly name = "CopyError";
}

/**
 * One side of a copy: a store, as of one moment. Disposal leaves the store as it was, unless it was committed. Errors
 * name the store in one line for the operator: `StoreFileError` of a file, `DatabaseError` of a database.
 */
export interface CopySide extends AsyncDisposable {
  /** The store's name, without any password. */
  readonly shown: string;
  /** The same for all names that lead to the same store. Undefined for a file that does not exist yet. */
  readonly identity: string | undefined;
  /** The rows of a table by ascending key, some at a time. */
  read(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>;
  readHead(): Promise<StoreHead>;
}

/** The store that is copied. Nobody can write to it meanwhile. */
export interface CopySource extends CopySide {
  /** How many rows all tables have. */
  countRows(): Promise<number>;
}

/** The store that the copy makes, in one transaction. */
export interface CopyTarget extends CopySide {
  /** Makes the tables where they are missing. Throws for a store that is not empty, or that a server uses. */
  begin(): Promise<void>;
  /** Writes the rows of a table. An error of `pieces` is rethrown. */
  write(table: CopiedTable, pieces: AsyncIterable<readonly CopiedRow[]>): Promise<void>;
  /** Writes the head, and the data that is derived from the rows. Called after the last table. */
  finish(head: StoreHead): Promise<void>;
  /** Makes the copy durable. */
  commit(): Promise<void>;
}

/** How many rows of each table were copied. */
export type CopiedCounts = Readonly<Record<string, number>>;

/**
 * Copies a whole store to an empty one, compares both sides, and commits. A copy that ends before it commits leaves the
 * target as it was. Throws `CopyError`, and the errors of both sides.
 */
export async function copyStore(
  source: CopySource,
  target: CopyTarget,
  report: ReportProgress = () => {},
): Promise<CopiedCounts> {
  if (source.identity === target.identity) {
    throw new CopyError(`${target.shown}: this is the store that is copied from; name another one to copy it to`);
  }
  await target.begin();
  // Each row is copied, and then compared.
  const progress = new Progress(2 * (await source.countRows()), report);
  const copied = new Map<CopiedTable, TableDigest>();
  for (const table of copiedTables) {
    const digest = new TableDigest();
    await target.write(table, track(source.read(table), digest, progress));
    copied.set(table, digest);
  }
  const head = await source.readHead();
  await target.finish(head);
  await compare(target, head, copied, progress);
  await target.commit();
  return Object.fromEntries([...copied].map(([{ name }, { count }]) => [name, count]));
}

/** Throws `CopyError` unless the target has exactly what was read from the source. */
async function compare(
  target: CopySide,
  head: StoreHead,
  copied: ReadonlyMap<CopiedTable, TableDigest>,
  progress: Progress,
): Promise<void> {
  for (const [table, expected] of copied) {
    const present = new TableDigest();
    for await (const _ of track(target.read(table), present, progress)) {
      // Only the digest is wanted.
    }
    if (present.count !== expected.count || present.finish() !== expected.finish()) {
      const counts = present.count === expected.count ? "" : ` (${expected.count} rows and ${present.count})`;
      throw different(target, `the rows of ${table.name}${counts}`);
    }
  }
  const { lineage, holdPosition } = await target.readHead();
  if (lineage !== head.lineage || holdPosition !== head.holdPosition) {
    throw different(target, "the heads of the history");
  }
}

function different({ shown }: CopySide, what: string): CopyError {
  return new CopyError(`${shown}: ${what} differ from those that were copied; nothing has been changed`);
}

/** Passes rows on, adds them to a digest, and reports them. */
async function* track(
  pieces: AsyncIterable<readonly CopiedRow[]>,
  digest: TableDigest,
  progress: Progress,
): AsyncGenerator<readonly CopiedRow[]> {
  for await (const rows of pieces) {
    digest.add(rows);
    yield rows;
    await progress.advance(rows.length);
  }
}

/** How many rows are done. */
class Progress {
  readonly #total: number;
  readonly #report: ReportProgress;
  #done = 0;

  constructor(total: number, report: ReportProgress) {
    this.#total = total;
    this.#report = report;
    report(0, total);
  }

  async advance(rows: number): Promise<void> {
    // SQLite blocks the thread. Signals are handled between two pieces.
    await setImmediate();
    this.#done += rows;
    this.#report(this.#done, this.#total);
  }
}

/** The number of a table's rows, and a digest of them in their order. It serves to compare the two sides of a copy. */
class TableDigest {
  readonly #hash = createHash("sha256");
  #count = 0;

  add(rows: readonly CopiedRow[]): void {
    this.#hash.update(rows.map((row) => `${row.map(writeValue).join(",")}\n`).join(""));
    this.#count += rows.length;
  }

  get count(): number {
    return this.#count;
  }

  /** Nothing may be added afterwards. */
  finish(): string {
    return this.#hash.digest("hex");
  }
}

/** Writes a value for the digest. Two different values of a type have different texts. */
function writeValue(value: CopiedValue): string {
  if (typeof value === "string") {
    return JSON.stringify(value);
  }
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex");
  }
  return Array.isArray(value) ? `[${value.map(writeValue).join(",")}]` : String(value);
}

/** The type of a column, the same for all backends. */
export type ColumnType = "integer" | "boolean" | "text" | "bytes" | "texts" | "integers";

/** A value of such a column. */
export type CopiedValue = bigint | boolean | string | Uint8Array | readonly string[] | readonly bigint[] | null;

/** The values of a table's columns, in their order. */
export type CopiedRow = readonly CopiedValue[];

/** A table that every backend has, with the columns that mean the same in all of them. */
export interface CopiedTable {
  readonly name: string;
  /** The columns that identify a row. Rows are read in the order of these columns. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ColumnType>>;
}

/** What a store keeps besides its tables. */
export interface StoreHead {
  readonly lineage: string;
  /** The position of the newest hold that was ever created, even if it was deleted; 0 before the first one. */
  readonly holdPosition: bigint;
}

/**
 * The tables that a copy moves. A table comes after the tables that its rows refer to. A copy leaves out derived data.
 * It also leaves out the data of running servers, because no server runs during a copy: registrations, claims, counts
 * of changes, and the numbers of usage saves. The record of the last backup stays with the source.
 */
export const copiedTables: readonly CopiedTable[] = [
  createTable("pets", "id", {
    integer: "id",
    text: "name category",
    texts: "photo_urls tags",
  }),
  createTable("stock", "pet_id", {
    integer: "pet_id quantity revision held",
    text: "status",
  }),
  createTable("changes", "revision", {
    integer: "revision pet_id before after occurred_at_ms",
    text: "kind reason reference key_id request_id",
  }),
  createTable("holds", "position", {
    integer: "position pet_id quantity created_at_ms expires_at_ms ended_at_ms",
    text: "id reference state key_id",
  }),
  createTable("idempotency_records", "key_id idempotency_key", {
    text: "key_id idempotency_key result",
    bytes: "fingerprint",
    integer: "created_at_ms",
  }),
  createTable("orders", "id", {
    integer: "id pet_id quantity ship_date_ms",
    text: "status",
    boolean: "complete",
  }),
  createTable("keys", "number", {
    integer: "number per_minute per_day created_at_ms expires_at_ms revoked_at_ms unbans",
    text: "id name plan",
    texts: "scopes",
  }),
  createTable("secrets", "hash", {
    bytes: "hash",
    text: "key_id",
    integer: "expires_at_ms",
  }),
  createTable("usage", "key_id", {
    text: "key_id",
    integer: `minute_opened_at_ms minute_count day_opened_at_ms day_count refusals_opened_at_ms refusals_count
      ban_step ban_ends_at_ms unbans last_used_at_ms`,
  }),
  createTable("deprecated_calls", "key_id method", {
    text: "key_id method",
    integer: "last_called_at_ms",
  }),
  createTable("webhooks", "number", {
    integer: `number crossing created_at_ms former_secret_ends_ms paused_at_ms position delivering_up_to failures
      failing_since_ms next_attempt_at_ms`,
    text: "id url secret former_secret paused",
    integers: "pet_ids",
  }),
  createTable("webhook_attempts", "number", {
    integer: "number at_ms duration_ms changes status",
    text: "webhook_id delivery_id fault",
  }),
];

/** Describes a table by its key and, for each type, the columns of that type, with white space between the names. */
function createTable(name: string, key: string, columns: Partial<Record<ColumnType, string>>): CopiedTable {
  const typed = Object.entries(columns) as [ColumnType, string][];
  const each = typed.flatMap(([type, names]) => names.split(/\s+/).map((column) => [column, type] as const));
  return { name, key: key.split(" "), columns: Object.fromEntries(each) };
}
