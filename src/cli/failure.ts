import { getSystemErrorMessage } from "node:util";
import { DomainError } from "../domain/errors.ts";
import { maskCredentials } from "../domain/masking.ts";
import { printable } from "./print/terminal.ts";
import { isStoreError } from "./store.ts";

/** A failure that the user can act on. It is shown as one line, without a stack trace. */
export class Failure extends Error {
  override readonly name = "Failure";
  /** 2 for wrong usage, 128 and more for the end by a signal, 1 otherwise. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Wrong usage: flags that do not go together, or values that are not allowed. */
export function usageFailure(message: string): Failure {
  return new Failure(message, 2);
}

/** A failed system call: `cannot read pets.csv: no such file or directory`. */
export function systemFailure(attempt: string, error: unknown): Failure {
  return new Failure(`cannot ${attempt}: ${describeSystemError(error)}`);
}

/** The failure of a server that cannot listen on its address. Undefined for any other error. */
export function listenFailure(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) {
    return undefined;
  }
  const { syscall, address, port, hostname } = error as ListenError;
  if (syscall === "listen") {
    // Node names no port when any free one would do.
    const failure = systemFailure(`listen on ${address}${port === undefined ? "" : ` port ${port}`}`, error);
    const isReserved = (error as ListenError).code === "EACCES" && port !== undefined && port < 1_024;
    return isReserved ? new Failure(`${failure.message}; ${reservedPorts}`) : failure;
  }
  if (syscall === "getaddrinfo") {
    return new Failure(`cannot listen on ${hostname}: there is no such host`);
  }
  return undefined;
}

const reservedPorts = "ports below 1024 need root or CAP_NET_BIND_SERVICE, so name a higher one with --port";

/** The fields of Node's errors about addresses. */
interface ListenError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

/** Describes an error on one line. Any other error than those below is a bug, and keeps its stack trace. */
export function describeError(error: unknown): string {
  if (error instanceof DomainError && error.cause !== undefined) {
    return printable(`the store failed: ${reason(error.cause)}`);
  }
  if (error instanceof Failure || error instanceof DomainError || isStoreError(error) || isSystemError(error)) {
    return printable(reason(error));
  }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return trace.split("\n").map(printable).join("\n");
}

function describeSystemError(error: unknown): string {
  return isSystemError(error) ? getSystemErrorMessage(error.errno) : (openSslReason(error) ?? reason(error));
}

/** OpenSSL's reason alone, because its messages have hexadecimal codes. Undefined for any other error. */
function openSslReason(error: unknown): string | undefined {
  const { code, reason: text } = error as { readonly code?: unknown; readonly reason?: unknown };
  return String(code).startsWith("ERR_OSSL_") && typeof text === "string" ? text : undefined;
}

function reason(error: unknown): string {
  return maskCredentials((error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, " "));
}

/** Whether an error comes from a system call, such as ENOENT or ENOSPC. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { readonly errno: number } {
  return error instanceof Error && "errno" in error && typeof error.errno === "number" && error.errno < 0;
}
