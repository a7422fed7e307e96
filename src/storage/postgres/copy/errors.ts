import { LostConnectionError, sqlStateOf } from "../connection/connection.ts";
import { DatabaseError } from "../connection/database-error.ts";
import type { DatabaseAddress } from "../connection/database-url.ts";
import { toDatabaseError } from "../database.ts";

/** Turns an error of the driver into a line for the operator. Returns other errors as they are. */
export function toCopyError(error: unknown, address: DatabaseAddress): unknown {
  if (error instanceof LostConnectionError) {
    const { message } = error.cause instanceof Error ? error.cause : error;
    const line = `${address.shown}: the connection was lost, and nothing has been copied: ${message}`;
    return new DatabaseError(line, { cause: error });
  }
  return sqlStateOf(error) === undefined ? error : toDatabaseError(error, address);
}
