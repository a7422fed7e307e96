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

/** How many places that were left are kept for a Valkey that is away: as many streams as a server may have open. */
const mostLeft = 8_192;

/** The places for streams of keys, which Valkey keeps for all servers. */
export class SharedStreamPlaces {
  readonly #counting: Counting;
  /** Identifies this run of the server. */
  readonly #server = randomUUID();
  /** The names of this server's streams, by the id of their key. */
  readonly #held = new Map<string, Set<string>>();
  /** The calls that give places back and that Valkey has not answered. Each has the time at which its lease is over. */
  readonly #left = new Map<ScriptCall, number>();
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
    const { link, scripts } = this.#counting;
    const isSent = link.isConnected;
    const [isFree] = await this.#ask({
      script: scripts.takePlace,
      key: placesName(keyId),
      args: [name, max, leaseMs],
    }).catch((reason: unknown) => {
      if (isSent) {
        // The answer is lost, but Valkey may have given the place.
        this.#giveBack(keyId, name);
      }
      throw reason;
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
    this.#giveBack(keyId, name);
  }

  #giveBack(keyId: string, name: string): void {
    const { scripts } = this.#counting;
    const call = { script: scripts.leavePlace, key: placesName(keyId), args: [name] };
    if (this.#left.size < mostLeft) {
      this.#left.set(call, performance.now() + leaseMs);
    }
    this.#tell([call]);
  }

  /** Renews the places of open streams. Gives back again those whose giving back was not answered. */
  #keepAll(): void {
    const { scripts } = this.#counting;
    const nowMs = performance.now();
    for (const [call, endsAtMs] of this.#left) {
      if (endsAtMs <= nowMs) {
        this.#left.delete(call);
      }
    }
    const kept = [...this.#held].map(([keyId, names]) => ({
      script: scripts.keepPlaces,
      key: placesName(keyId),
      args: [leaseMs, ...names],
    }));
    this.#tell([...kept, ...this.#left.keys()]);
  }

  /** Sends calls, and ignores failures: `#keepAll` sends them again, or the lease of the place ends. */
  #tell(calls: readonly ScriptCall[]): void {
    const { link } = this.#counting;
    if (calls.length > 0 && link.isConnected) {
      const forget = () => {
        for (const call of calls) {
          this.#left.delete(call);
        }
      };
      link.run(calls).then(forget, () => {});
    }
  }
}

function placesName(keyId: string): string {
  return `petstore:{${keyId}}:streams`;
}
