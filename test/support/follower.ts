import { setTimeout } from "node:timers/promises";
import type { TestServer } from "./server.ts";
import type { Told, Watch, WatchProtocol } from "./watch.ts";

/** How long a follower waits before it connects again, in milliseconds. */
const againMs = 20;

/** Follows all changes over one protocol. Whenever the stream breaks, it comes back with its last cursor. */
export class Follower {
  readonly #protocol: WatchProtocol;
  readonly #server: () => TestServer;
  readonly #key: string;
  /** Whether it began after a cursor. */
  readonly #hasStart: boolean;
  #watch: Watch | undefined;
  #cursor: string | undefined;
  #newest = 0n;
  #isOn = true;
  #connections = 0;
  readonly #done: Promise<void>;
  /** What was missed, told twice or out of order, in words. */
  readonly faults: string[] = [];

  /** Starts at once, with the change after `cursor`; without it with the oldest. `server` is the one of the moment. */
  constructor(protocol: WatchProtocol, server: () => TestServer, key: string, cursor?: string) {
    this.#protocol = protocol;
    this.#server = server;
    this.#key = key;
    this.#cursor = cursor;
    this.#hasStart = cursor !== undefined;
    this.#done = this.#follow();
  }

  /** The revision of the newest change that it has been told; 0 for none. */
  get newest(): bigint {
    return this.#newest;
  }

  /** How often it has connected. */
  get connections(): number {
    return this.#connections;
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    this.#watch?.stop();
    await this.#done;
  }

  /** Leaves, and comes back. */
  reconnect(): void {
    this.#watch?.stop();
  }

  async #follow(): Promise<void> {
    while (this.#isOn) {
      this.#connections += 1;
      const watch = this.#protocol.open(
        this.#server(),
        { after: this.#cursor },
        { authorization: `Bearer ${this.#key}` },
      );
      this.#watch = watch;
      await this.#read(watch);
      await setTimeout(againMs);
    }
  }

  async #read(watch: Watch): Promise<void> {
    let isOver = false;
    let read = 0;
    void watch.ended.then(() => {
      isOver = true;
    });
    do {
      await setTimeout(againMs);
      for (; read < watch.told.length; read += 1) {
        this.#take(watch.told[read] as Told);
      }
    } while (!isOver || read < watch.told.length);
  }

  #take({ cursor, revision }: Told): void {
    this.#cursor = cursor || this.#cursor;
    if (revision === undefined) {
      return;
    }
    if (revision !== this.#newest + 1n && !(this.#newest === 0n && this.#hasStart)) {
      this.faults.push(`${this.#protocol.name}: ${revision} after ${this.#newest}`);
    }
    this.#newest = revision;
  }
}
