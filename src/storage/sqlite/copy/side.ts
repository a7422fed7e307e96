import type { ColumnType, CopiedRow, CopiedTable, CopiedValue, StoreHead } from "../../copy/tables.ts";
import { DamagedRowError, readInteger, readStringArray } from "../column-values.ts";
import { type Connection, isBusy, isDriverError, type Value } from "../connection.ts";
import { acquireServerLock, type ServerLock, StoreHeldError } from "../files/server-lock.ts";
import { StoreFileError, toStoreFileError } from "../files/store-file.ts";

/** How many rows are read at once. */
const rowsPerPiece = 1_000;

/** Reads the rows of a table by ascending key. The connection is busy until the last one. Throws `DamagedRowError`. */
export function* readRows(connection: Connection, { name, key, columns }: CopiedTable): Generator<CopiedRow[]> {
  const source = name === "stock" ? "current_stock" : name;
  const sql = `SELECT ${Object.keys(columns).join(", ")} FROM ${source} ORDER BY ${key.join(", ")}`;
  let piece: CopiedRow[] = [];
  for (const row of connection.iterate<Record<string, Value>>(sql)) {
    piece.push(Object.entries(columns).map(([column, type]) => fromColumn(row[column] ?? null, type)));
    if (piece.length === rowsPerPiece) {
      yield piece;
      piece = [];
    }
  }
  yield piece;
}

/** The statement that inserts a row: the values of the table's columns, and 0 for those that are made anew later. */
export function insertSql({ name, columns }: CopiedTable, madeAnew: readonly string[] = []): string {
  const names = [...Object.keys(columns), ...madeAnew];
  const values = [...Object.keys(columns).map(() => "?"), ...madeAnew.map(() => "0")];
  return `INSERT INTO ${name} (${names.join(", ")}) VALUES (${values.join(", ")})`;
}

function fromColumn(value: Value, type: ColumnType): CopiedValue {
  if (value === null) {
    return null;
  }
  switch (type) {
    case "integer":
      return readInteger(value);
    case "boolean":
      return readInteger(value) !== 0n;
    case "text":
      return String(value);
    case "bytes":
      return value as Uint8Array;
    case "texts":
      return readStringArray(String(value));
    case "integers":
      return readStringArray(String(value)).map(BigInt);
  }
}

/** Writes a value as SQLite keeps it: a list as JSON, whose integers are texts. */
export function toColumn(value: CopiedValue): Value {
  if (typeof value === "boolean") {
    return value ? 1n : 0n;
  }
  return Array.isArray(value) ? JSON.stringify(value.map(String)) : (value as Value);
}

/** Reads what the history and the holds go on from. */
export function readHead(connection: Connection): StoreHead {
  return connection.get<StoreHead>(
    `SELECT lineage, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'holds'), 0) AS holdPosition FROM history`,
  ) as StoreHead;
}

/** Turns an error of the driver, or of a damaged row, into a line for the operator. Returns other errors as they are. */
export function toCopyError(error: unknown, file: string): unknown {
  if (isBusy(error)) {
    return new StoreFileError(`${file}: another process uses it; try again when that has ended`, { cause: error });
  }
  if (error instanceof DamagedRowError) {
    return new StoreFileError(`${file}: it is not sound: ${error.message}; 'petstore check' tells more`, {
      cause: error,
    });
  }
  return isDriverError(error) ? toStoreFileError(error, file) : error;
}

/** Keeps servers from a store. Throws `StoreFileError` while one has it. */
export function lockUnserved(file: string, consequence: string): ServerLock {
  try {
    return acquireServerLock(file);
  } catch (error) {
    throw error instanceof StoreHeldError
      ? new StoreFileError(`${file}: process ${error.pid} serves it; end that server first${consequence}`)
      : error;
  }
}
