import { getSystemErrorMessage } from "node:util";
import { DomainError } from "../domain/errors.ts";
import { maskCredentials } from "../observability/masking.ts";
import { printable } from "./print/printable.ts";
import { isStoreFileError } from "./store-file.ts";

/** A failure that the user can do something about: one clear line, without a stack trace. */
export class Failure extends Error {
  override readonly name = "Failure";
  /** 2 when the command was not understood, 128 and more when a signal has ended it, 1 otherwise. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command was not understood: flags that do not go together, or values that cannot be. */
export function usageFailure(message: string): Failure {
  return new Failure(message, 2);
}

/** What the system refused, such as reading a file: `cannot read pets.csv: no such file or directory`. */
export function systemFailure(attempt: string, error: unknown): Failure {
  return new Failure(`cannot ${attempt}: ${describeSystemError(error)}`);
}

/**
 * The line that is shown for an error. What is neither a failure, nor of the service, nor of the system is a bug, and
 * shown with its stack trace.
 */
export function describeError(error: unknown): string {
  if (error instanceof DomainError && error.cause !== undefined) {
    return printable(`the store failed: ${reason(error.cause)}`);
  }
  if (error instanceof Failure || error instanceof DomainError || isStoreFileError(error) || isSystemError(error)) {
    return printable(reason(error));
  }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return trace.split("\n").map(printable).join("\n");
}

function describeSystemError(error: unknown): string {
  return isSystemError(error) ? getSystemErrorMessage(error.errno) : reason(error);
}

function reason(error: unknown): string {
  return maskCredentials((error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, " "));
}

/** Whether an error is the system's: no such file, no space left, and so on. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { readonly errno: number } {
  return error instanceof Error && "errno" in error && typeof error.errno === "number" && error.errno < 0;
}
