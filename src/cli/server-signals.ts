/** The signals that end a server, and the exit codes of a process that one of them has ended at once. */
const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

type StopSignal = keyof typeof exitCodes;

const stopSignals = Object.keys(exitCodes) as StopSignal[];

// A terminal's Ctrl-C reaches both npm and us, and npm passes it on: the same signal twice, a moment apart.
const sameSignalMs = 500;

/** What signals ask of a server. */
export interface SignalledServer {
  /** SIGUSR2: logs at `debug`, or no longer. */
  switchDebug(): void;
  /** Hears that a second signal ends the process at once. */
  abandon(signal: string): void;
}

/**
 * The signals that a server acts on. They are taken from the process's beginning on, as Node itself would let them end
 * it: what comes before there is a server is done once there is one.
 */
export class ServerSignals {
  readonly #stop = new AbortController();
  #toldAtMs: number | undefined;
  #server: SignalledServer | undefined;
  #willSwitchDebug = false;
  readonly #listeners = new Map<NodeJS.Signals, (signal: NodeJS.Signals) => void>();

  constructor() {
    for (const signal of stopSignals) {
      this.#listeners.set(signal, () => this.#end(signal));
    }
    // Windows has no such signals. Node's own answer to SIGUSR1 is to listen for debuggers.
    if (process.platform !== "win32") {
      this.#listeners.set("SIGUSR1", () => {});
      this.#listeners.set("SIGUSR2", () => this.#switchDebug());
    }
    for (const [signal, listener] of this.#listeners) {
      process.on(signal, listener);
    }
  }

  /** Aborted by the first signal that ends a server. A second one ends the process. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Hands over to a server, with what was asked of it before. */
  handOver(server: SignalledServer): void {
    this.#server = server;
    if (this.#willSwitchDebug) {
      server.switchDebug();
    }
  }

  /** Leaves the signals to the system, for a command that serves nothing. */
  release(): void {
    for (const [signal, listener] of this.#listeners) {
      process.off(signal, listener);
    }
    if (this.#toldBy !== undefined) {
      process.kill(process.pid, this.#toldBy);
    }
  }

  #end(signal: StopSignal): void {
    const nowMs = performance.now();
    this.#toldAtMs ??= nowMs;
    if (nowMs - this.#toldAtMs > sameSignalMs) {
      this.#server?.abandon(signal);
      process.exit(exitCodes[signal]);
    }
    this.#stop.abort(signal);
  }

  get #toldBy(): StopSignal | undefined {
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
