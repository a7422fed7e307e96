import { createLinkedAbortController } from "@connectrpc/connect/protocol";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";

/** What ends a call early: its deadline, and a client that goes away. */
export class CallSignals {
  readonly #exchange: Exchange;
  readonly #deadline: Deadline | undefined;
  #all: AbortSignal | undefined;

  /** `timeoutMs` runs from now on; undefined for no deadline. */
  constructor(exchange: Exchange, timeoutMs: number | undefined) {
    this.#exchange = exchange;
    this.#deadline = timeoutMs === undefined ? undefined : startDeadline(timeoutMs);
  }

  /** Aborts at the deadline; undefined when there is none. */
  get deadline(): AbortSignal | undefined {
    return this.#deadline?.signal;
  }

  /** Aborts at the deadline, and when the client goes away. */
  get all(): AbortSignal {
    this.#all ??=
      this.#deadline === undefined
        ? this.#exchange.signal
        : createLinkedAbortController(this.#deadline.signal, this.#exchange.signal).signal;
    return this.#all;
  }

  /** How long the deadline is away, in whole milliseconds; undefined when there is none. */
  get leftMs(): number | undefined {
    return this.#deadline && this.#deadline.atMs - Date.now();
  }

  /** Stops the clock of a call that has been answered. */
  end(): void {
    this.#deadline?.cleanup();
  }
}

interface Deadline {
  readonly atMs: number;
  readonly signal: AbortSignal;
  cleanup(): void;
}

function startDeadline(timeoutMs: number): Deadline {
  const controller = new AbortController();
  const pass = () => controller.abort(deadlineExceeded());
  const timer = timeoutMs > 0 ? setTimeout(pass, timeoutMs) : undefined;
  if (timer === undefined) {
    pass();
  }
  const { signal } = controller;
  return { atMs: Date.now() + Math.trunc(timeoutMs), signal, cleanup: () => clearTimeout(timer) };
}

/** Connect's own error would not tell the caller what to do next. */
function deadlineExceeded(): ProtocolError {
  return new ProtocolError("deadline_exceeded", "The deadline has passed. Nothing was changed; allow more time.");
}
