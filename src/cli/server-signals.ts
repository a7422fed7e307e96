import { setTimeout } from "node:timers/promises";
import type { Worker } from "node:worker_threads";

/** The signals that stop a server, and the exit codes when one of them ends the process at once. */
const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

type StopSignal = keyof typeof exitCodes;

const stopSignals = Object.keys(exitCodes) as StopSignal[];

// With Ctrl-C a signal comes twice: from the terminal, and a moment later from npm. What comes so soon is ignored.
const repeatedSignalMs = 500;

/** How long a thread may take to answer before only SIGKILL ends the process, in milliseconds. */
const threadAnswerMs = 1_000;

/** A server that signals act on. */
interface SignalledServer {
  /** SIGUSR2: turns the log level `debug` on or off. */
  switchDebug(): void;
  /** Called when a second signal ends the process at once. */
  abandon(signal: string): void;
}

/**
 * The signals that a server acts on. It listens from the start of the process, because a signal without a listener ends
 * the process. A signal that comes before the server is ready takes effect once it is ready.
 */
export class ServerSignals {
  readonly #stop = new AbortController();
  #firstSignalAtMs: number | undefined;
  #server: SignalledServer | undefined;
  #willSwitchDebug = false;
  #isExiting = false;
  readonly #threads = new Set<Worker>();
  readonly #listeners = new Map<NodeJS.Signals, (signal: NodeJS.Signals) => void>();

  constructor() {
    for (const signal of stopSignals) {
      this.#listeners.set(signal, () => this.#end(signal));
    }
    // Windows lacks these signals. By default, SIGUSR1 makes Node listen for debuggers.
    if (process.platform !== "win32") {
      this.#listeners.set("SIGUSR1", () => {});
      this.#listeners.set("SIGUSR2", () => this.#switchDebug());
    }
    for (const [signal, listener] of this.#listeners) {
      process.on(signal, listener);
    }
    process.on("worker", this.#noteThread);
  }

  /** Aborted by the first signal that stops a server. A second one ends the process. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Connects a server, and applies the signals that came before. */
  handOver(server: SignalledServer): void {
    this.#server = server;
    if (this.#willSwitchDebug) {
      server.switchDebug();
    }
  }

  /** Restores the default action of the signals, for a command that is not a server. */
  release(): void {
    process.off("worker", this.#noteThread);
    for (const [signal, listener] of this.#listeners) {
      process.off(signal, listener);
    }
    if (this.#firstSignal !== undefined) {
      process.kill(process.pid, this.#firstSignal);
    }
  }

  readonly #noteThread = (thread: Worker): void => {
    this.#threads.add(thread);
    thread.once("exit", () => this.#threads.delete(thread));
  };

  #end(signal: StopSignal): void {
    const nowMs = performance.now();
    this.#firstSignalAtMs ??= nowMs;
    if (nowMs - this.#firstSignalAtMs <= repeatedSignalMs) {
      this.#stop.abort(signal);
    } else if (!this.#isExiting) {
      this.#isExiting = true;
      this.#server?.abandon(signal);
      void this.#exit(exitCodes[signal]);
    }
  }

  /** Exits, which waits for the end of all threads. One that waits for a disk cannot end: then only SIGKILL helps. */
  async #exit(code: number): Promise<void> {
    const answers = [...this.#threads].map((thread) => thread.getHeapStatistics());
    const haveAnswered = Promise.allSettled(answers).then(() => true);
    if (!(await Promise.race([haveAnswered, setTimeout(threadAnswerMs, false)]))) {
      process.kill(process.pid, "SIGKILL");
    }
    process.exit(code);
  }

  get #firstSignal(): StopSignal | undefined {
    return this.#stop.signal.reason as StopSignal | undefined;
  }

  #switchDebug(): void {
    if (this.#server === undefined) {
      this.#willSwitchDebug = !this.#willSwitchDebug;
    } else {
      this.#server.switchDebug();
    }
  }
}
