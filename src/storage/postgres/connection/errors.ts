import pg from "pg";
import { storeUnavailable } from "../../../domain/errors.ts";
import { type DatabaseAddress, DatabaseError } from "./database-url.ts";

/** The connection is gone, or was cut because the database has not answered in time. */
export class LostConnectionError extends Error {
  override readonly name = "LostConnectionError";
}

/** The database is a replica, whose reads are late. */
export class ReplicaError extends LostConnectionError {
  constructor() {
    super("it is a replica, which takes no writes");
  }
}

/**
 * The classes of errors by which a database says that it is busy, full, failing or going down, as opposed to wrong SQL.
 *
 * Source: https://www.postgresql.org/docs/15/errcodes-appendix.html
 */
const mediumFails = /^(08|25006|25P03|40|53|55|57|58|F0|XX)/;

/**
 * Turns an error of the driver into `UNAVAILABLE` where the database fails, and into `DatabaseError` where the operator
 * must change how it is set up. Returns other errors as they are.
 */
export function fromDriverError(error: unknown, { shown }: DatabaseAddress): unknown {
  const fault = setupFaultOf(error);
  if (fault !== undefined) {
    return new DatabaseError(`${shown}: ${fault}`, { cause: error });
  }
  return isDatabaseFailure(error) ? storeUnavailable(error) : error;
}

/** What the operator must change where two sessions have the same connection of a pooler in turn. */
export const sharedSessions =
  "a pooler shares connections between sessions; let it pool sessions (PgBouncer: pool_mode = session)";

/** Says what the operator must change, where that is why a statement has failed. Undefined for any other error. */
export function setupFaultOf(error: unknown): string | undefined {
  switch (sqlStateOf(error)) {
    case "42501":
      return `${(error as Error).message}; let the user own the database, or grant what is missing`;
    // A statement was prepared in another session: one of the same name is there, or this one is not.
    case "42P05":
    case "26000":
      return sharedSessions;
    default:
      return undefined;
  }
}

/** Whether the database is busy, full or failing, or cannot be reached. */
export function isDatabaseFailure(error: unknown): boolean {
  return error instanceof LostConnectionError || mediumFails.test(sqlStateOf(error) ?? "");
}

/**
 * Whether a transaction has failed because of a concurrent one, and is to be tried again: a serialization failure, or a
 * deadlock.
 */
export function isConflict(error: unknown): boolean {
  return /^(40001|40P01)$/.test(sqlStateOf(error) ?? "");
}

/** PostgreSQL's code of an error; undefined for an error that is not PostgreSQL's. */
export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** PostgreSQL's code of a write in a read-only transaction, which all transactions of a replica are. */
export const readOnlyTransaction = "25006";

/** PostgreSQL's code of a unique violation: a value that must be unique exists already. */
export const uniqueViolation = "23505";
