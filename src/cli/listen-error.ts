import { Failure, systemFailure } from "./failure.ts";

/** What Node tells of a call to the system that failed. */
interface SystemError extends Error {
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
}

/** What to tell when an address cannot be listened on. Undefined when the error is about something else. */
export function describeListenError(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) {
    return undefined;
  }
  const { syscall, address, port, hostname } = error as SystemError;
  if (syscall === "listen") {
    // Node names no port where any would have done.
    return systemFailure(`listen on ${address}${port === undefined ? "" : ` port ${port}`}`, error);
  }
  if (syscall === "getaddrinfo") {
    return new Failure(`cannot listen on ${hostname}: there is no such host`);
  }
  return undefined;
}
