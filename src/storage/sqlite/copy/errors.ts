import { DamagedRowError } from "../column-values.ts";
import { isBusy, isDriverError } from "../connection.ts";
import { acquireServerLock, type ServerLock, StoreHeldError } from "../files/server-lock.ts";
import { StoreFileError, toStoreFileError } from "../files/store-path.ts";

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
