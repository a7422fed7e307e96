import { randomUUID } from "node:crypto";
import type { ScriptCall } from "./connection.ts";
import type { Counting } from "./counting.ts";

/**
 * How long a place stays taken without being renewed, in milliseconds. The places of a killed server are free within
 * 30 s.
 */
const leaseMs = 20_000;

/** How often places are renewed, in milliseconds. Several attempts in a row may fail. */
const keepIntervalMs = 5_000;

/** The places for streams of keys, which Valkey keeps for all servers. */
export class SharedStreamPlaces {
  readonly #counting: Counting;
  /** Identifies this run of the server. */
  readonly #server = randomUUID();
  /** The names of this server's streams, by the id of their key. */
  readonly #held = new Map<string, Set<string>>();
  readonly #keepTimer: NodeJS.Timeout;
  #taken = 0;

  constructor(counting: Counting) {
    this.#counting = counting;
    this.#keepTimer = setInterval(() => this.#keepAll(), keepIntervalMs).unref();
    // Valkey gets all places again: it may have been restarted empty, or the places may have expired.
    counting.link.onConnected(() => this.#keepAll());
  }

  /**
   * Takes a place, which `leave` gives back. Resolves to undefined if the key already has `max` over all servers. While
   * Valkey is away, a server that counts by itself grants every place; any other server rejects with `UNAVAILABLE`.
   */
  async take(keyId: string, max: number): Promise<{ leave(): void } | undefined> {
    this.#taken += 1;
    const name = `${this.#server}:${this.#taken}`;
    const { scripts } = this.#counting;
    const [isFree] = await this.#ask({
      script: scripts.takePlace,
      key: placesName(keyId),
      args: [name, max, leaseMs],
    });
    if (isFree === 0) {
      return undefined;
    }
    this.#hold(keyId, name);
    return { leave: () => this.#leave(keyId, name) };
  }

  async #ask(call: ScriptCall): Promise<readonly unknown[]> {
    const { link } = this.#counting;
    return await link.run([call]).catch(() => this.#counting.answerAlone(0, () => []));
  }

  /** Renews no place any more. */
  close(): void {
    clearInterval(this.#keepTimer);
  }

  #hold(keyId: string, name: string): void {
    const names = this.#held.get(keyId) ?? new Set();
    this.#held.set(keyId, names.add(name));
  }

  #leave(keyId: string, name: string): void {
    const names = this.#held.get(keyId);
    if (names?.delete(name) !== true) {
      return;
    }
    if (names.size === 0) {
      this.#held.delete(keyId);
    }
    const { scripts } = this.#counting;
    this.#tell([{ script: scripts.leavePlace, key: placesName(keyId), args: [name] }]);
  }

  #keepAll(): void {
    const { scripts } = this.#counting;
    this.#tell(
      [...this.#held].map(([keyId, names]) => ({
        script: scripts.keepPlaces,
        key: placesName(keyId),
        args: [leaseMs, ...names],
      })),
    );
  }

  /**
   * Sends calls, and ignores failures. A lost `leavePlace` is made good by the end of the lease, and a lost
   * `keepPlaces` by the next one.
   */
  #tell(calls: readonly ScriptCall[]): void {
    const { link } = this.#counting;
    if (calls.length > 0 && link.isConnected) {
      link.run(calls).catch(() => {});
    }
  }
}

function placesName(keyId: string): string {
  return `petstore:{${keyId}}:streams`;
}
