import Sqlite from "better-sqlite3";
import { storeUnavailable } from "../../domain/errors.ts";
import { DamagedRowError } from "./column-values.ts";

/** The result codes that tell of the medium, not of a mistake in our SQL. Source: https://sqlite.org/rescode.html */
const mediumFails =
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL|PERM|AUTH|NOLFS|INTERRUPT)(_|$)/;

/**
 * What to throw in place of an error of the driver: `UNAVAILABLE` when the medium fails, or is damaged. Other errors
 * stay.
 */
export function fromDriverError(error: unknown): unknown {
  return isMediumFailure(error) || error instanceof DamagedRowError ? storeUnavailable(error) : error;
}

/** Whether the driver tells that the medium is busy, full or failing. */
export function isMediumFailure(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Sqlite.SqliteError && mediumFails.test(error.code);
}

/** Whether the driver tells that somebody else holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && /^SQLITE_BUSY(_|$)/.test(error.code);
}
