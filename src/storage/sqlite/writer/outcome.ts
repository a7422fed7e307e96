import { DomainError, type ErrorCode, storeUnavailable } from "../../../domain/errors.ts";
import { DamagedRowError, isMediumFailure } from "../connection.ts";
import { StoreFileError } from "../store-file.ts";

/** The outcome of one write. It is sent between threads, where errors lose their class. */
export type WriteOutcome = { readonly value: unknown } | Refusal | Failure;

/** A domain error. */
interface Refusal {
  readonly refusal: { readonly code: ErrorCode; readonly message: string };
}

/** Why a write has failed. */
export interface Failure {
  readonly error: Error;
  readonly isMediumFailure: boolean;
}

/** Returns what a write returns. A domain error becomes a refusal. Other errors are thrown. */
export function resultOrRefusal<T>(write: () => T): T | Refusal {
  try {
    return write();
  } catch (error) {
    if (error instanceof DomainError) {
      return { refusal: { code: error.code, message: error.message } };
    }
    throw error;
  }
}

/** Turns an error into a failure. The message gets SQLite's code, which tells whether a write failed, or a sync. */
export function toFailure(error: unknown): Failure {
  if (isMediumFailure(error)) {
    return { error: new Error(`${error.message} (${error.code})`), isMediumFailure: true };
  }
  return {
    error: error as Error,
    isMediumFailure: error instanceof DamagedRowError || error instanceof StoreFileError,
  };
}

/** The value of an outcome. Throws the domain error of a refusal, or what `failureToError` returns. */
export function resultOf<T>(outcome: WriteOutcome): T {
  if ("value" in outcome) {
    return outcome.value as T;
  }
  throw "refusal" in outcome ? new DomainError(outcome.refusal.code, outcome.refusal.message) : failureToError(outcome);
}

/** The error that callers get for a failure: `UNAVAILABLE` where the disk has failed. */
export function failureToError({ error, isMediumFailure: isOfMedium }: Failure): Error {
  return isOfMedium ? storeUnavailable(error) : error;
}

/** As `failureToError`, for an error that was not sent between threads. */
export function toCallerError(error: unknown): Error {
  return failureToError(toFailure(error));
}
