import { createLinkedAbortController } from "@connectrpc/connect/protocol";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";

/** What ends a call early: its deadline, a client that goes away, and an interceptor that ends it. */
export class CallSignals {
  readonly #exchange: Exchange;
  readonly #deadline: Deadline | undefined;
  #ending: AbortController | undefined;
  #all: AbortSignal | undefined;

  constructor(exchange: Exchange, deadline: Deadline | undefined) {
    this.#exchange = exchange;
    this.#deadline = deadline;
  }

  /** Ends the call when it is aborted. An interceptor asks for it before it passes the call on. */
  get ending(): AbortController {
    this.#ending ??= new AbortController();
    return this.#ending;
  }

  /** Aborts at the deadline, when the client goes away, and when the call is ended. */
  get all(): AbortSignal {
    this.#all ??=
      this.#deadline === undefined && this.#ending === undefined
        ? this.#exchange.signal
        : createLinkedAbortController(this.#deadline?.signal, this.#ending?.signal, this.#exchange.signal).signal;
    return this.#all;
  }
}

/** The moment at which a call's time is over. */
export interface Deadline {
  /** In milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  /** Stops the clock of a call that has been answered. */
  end(): void;
}

/** Starts the clock of a call. */
export function startDeadline(timeoutMs: number): Deadline {
  const controller = new AbortController();
  const pass = () => controller.abort(deadlineExceeded());
  const timer = timeoutMs > 0 ? setTimeout(pass, timeoutMs) : undefined;
  if (timer === undefined) {
    pass();
  }
  const { signal } = controller;
  return { atMs: Date.now() + Math.trunc(timeoutMs), signal, end: () => clearTimeout(timer) };
}

/** Connect's own error would not tell the caller what to do next. */
function deadlineExceeded(): ProtocolError {
  return new ProtocolError("deadline_exceeded", "The deadline has passed. Nothing was changed; allow more time.");
}
