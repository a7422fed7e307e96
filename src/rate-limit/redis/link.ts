import { setTimeout as wait } from "node:timers/promises";
import { UnusableValkeyError } from "../rate-limiters.ts";
import type { Connection, ScriptCall } from "./connection.ts";

/** How long Valkey may take to answer before it counts as away, in milliseconds. Refusals are due within three seconds. */
const answerMs = 1_500;

/** How often Valkey is pinged, in milliseconds. So the link notices without any requests that Valkey is away. */
const heartbeatMs = 1_000;

/** How long the link waits between two attempts to connect, in milliseconds. Each takes `answerMs` at most. */
const retryMs = 500;

/** Observes the state of the link. */
export interface LinkObserver {
  /** Valkey does not answer any more, or did not at the start. */
  disconnected(reason: unknown): void;
  /** Valkey answers, for the first time or again. */
  connected(connection: Connection): void;
  /** How long a round trip took, in milliseconds. */
  roundTrip(durationMs: number): void;
}

/** What a link needs. */
interface LinkOptions {
  /** Opens a connection, and gives it up when the signal aborts. */
  readonly open: (signal: AbortSignal) => Promise<Connection>;
  readonly observer: LinkObserver;
}

/** Keeps a connection to Valkey, and opens a new one when it is lost. */
export class ValkeyLink {
  readonly #options: LinkOptions;
  readonly #closed = new AbortController();
  readonly #connectedListeners: (() => void)[] = [];
  #connection: Connection | undefined;
  #connecting: Promise<void> | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /**
   * Connects, or keeps trying in the background. Rejects with `UnusableValkeyError` if no further attempt could
   * succeed.
   */
  async start(): Promise<void> {
    try {
      this.#use(await this.#open());
    } catch (reason) {
      if (reason instanceof UnusableValkeyError) {
        throw reason;
      }
      this.#options.observer.disconnected(reason);
      this.#connecting = this.#connect(retryMs);
    }
    void this.#beat();
  }

  /** Whether Valkey answers, as far as is known. */
  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Calls `listener` each time a connection has been opened. */
  onConnected(listener: () => void): void {
    this.#connectedListeners.push(listener);
  }

  /**
   * Runs scripts in one round trip. Rejects when Valkey is away, or does not answer. It is then unknown whether the
   * scripts have run.
   */
  async run(calls: readonly ScriptCall[]): Promise<readonly unknown[]> {
    const connection = this.#connection;
    if (connection === undefined) {
      throw new Error("Valkey is away");
    }
    const startedAtMs = performance.now();
    try {
      const replies = await within(connection.run(calls));
      this.#options.observer.roundTrip(performance.now() - startedAtMs);
      return replies;
    } catch (reason) {
      this.#lose(connection, reason);
      throw reason;
    }
  }

  /** Ends the connection, and all attempts to open one. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#connection?.close();
    this.#connection = undefined;
    await this.#connecting;
  }

  #use(connection: Connection): void {
    if (this.#closed.signal.aborted) {
      connection.close();
      return;
    }
    this.#connection = connection;
    connection.lost.addEventListener("abort", () => this.#lose(connection, new Error("the connection was lost")));
    this.#options.observer.connected(connection);
    for (const listener of this.#connectedListeners) {
      listener();
    }
  }

  #lose(connection: Connection, reason: unknown): void {
    if (this.#connection !== connection) {
      return;
    }
    this.#connection = undefined;
    // A server that has just refused a script might do so again.
    const pauseMs = connection.lost.aborted ? 0 : retryMs;
    connection.close();
    if (!this.#closed.signal.aborted) {
      this.#options.observer.disconnected(reason);
      this.#connecting = this.#connect(pauseMs);
    }
  }

  /** Tries until it is connected. */
  async #connect(firstPauseMs: number): Promise<void> {
    const { signal } = this.#closed;
    for (let pauseMs = firstPauseMs; !signal.aborted && this.#connection === undefined; pauseMs = retryMs) {
      await wait(pauseMs, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) {
        return;
      }
      try {
        this.#use(await this.#open());
      } catch (reason) {
        this.#options.observer.disconnected(reason);
      }
    }
  }

  async #open(): Promise<Connection> {
    const attempt = new AbortController();
    try {
      return await within(this.#options.open(attempt.signal));
    } catch (reason) {
      attempt.abort();
      throw reason;
    }
  }

  async #beat(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await wait(heartbeatMs, undefined, { ref: false, signal }).catch(() => {});
      const connection = this.#connection;
      if (connection !== undefined) {
        await within(connection.ping()).catch((reason: unknown) => this.#lose(connection, reason));
      }
    }
  }
}

/** Waits for Valkey, but no longer than `answerMs`. */
async function within<T>(answer: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    // After a long turn, the event loop runs timers before it reads an answer that has arrived. `setImmediate` lets the
    // answer come first.
    setImmediate(() => reject(new Error(`no answer within ${answerMs} ms`)));
  }, answerMs);
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
