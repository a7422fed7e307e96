import Sqlite from "better-sqlite3";
import { storeUnavailable } from "../../domain/errors.ts";
import { DamagedRowError } from "./column-values.ts";

/** The result codes for a failing medium, as opposed to wrong SQL. Source: https://sqlite.org/rescode.html */
const mediumFails =
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL|PERM|AUTH|NOLFS|INTERRUPT)(_|$)/;

/** Turns an error of the driver into `UNAVAILABLE` when the medium fails or is damaged. Returns other errors as they are. */
export function fromDriverError(error: unknown): unknown {
  return isMediumFailure(error) || error instanceof DamagedRowError ? storeUnavailable(error) : error;
}

/** Whether the driver says that the medium is busy, full or failing. */
export function isMediumFailure(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Sqlite.SqliteError && mediumFails.test(error.code);
}

/** Whether the driver says that another process has the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && /^SQLITE_BUSY(_|$)/.test(error.code);
}
