import { KeyStatusUnknownError } from "../domain/errors.ts";
import { type FoundKey, hashSecret, isSecret } from "../domain/key.ts";
import type { KeyFinder, KeyStore } from "../domain/store.ts";
import type { ExternalChangeWatcher } from "./external-changes.ts";

/** How many secrets are remembered at most: some 5 MB. Each further one replaces the oldest. */
const maxSecrets = 10_000;

/** How many unknown secrets are remembered at most. Guesses never end, so the oldest ones are forgotten. */
const maxUnknownSecrets = 10_000;

/**
 * Finds keys by their secrets, and remembers the answers: hashing a secret and looking it up costs as much as the rest
 * of a small request. The cache forgets everything when others have changed keys.
 *
 * It limits the work that callers without a key can cause. A malformed secret is never looked up, an unknown one is
 * looked up once, and requests that bring the same secret at the same time share one look-up.
 *
 * Where the store has not answered for `maxSilenceMs`, a key may have been revoked meanwhile: then `find` throws
 * `KeyStatusUnknownError`.
 */
export class KeyCache implements KeyFinder {
  readonly #store: Pick<KeyStore, "findKey">;
  readonly #changes: KeyChanges;
  readonly #maxSilenceMs: number;
  readonly #known = new BoundedMap<FoundKey>(maxSecrets);
  readonly #unknown = new BoundedMap<true>(maxUnknownSecrets);
  readonly #lookUps = new Map<string, Promise<FoundKey | undefined>>();
  /** Counts how often everything was forgotten. A look-up that began before is not remembered. */
  #generation = 0;

  constructor(store: Pick<KeyStore, "findKey">, changes: KeyChanges, maxSilenceMs: number) {
    this.#store = store;
    this.#changes = changes;
    this.#maxSilenceMs = maxSilenceMs;
    changes.subscribe("keys", () => this.#forget());
  }

  async find(secret: string): Promise<FoundKey | undefined> {
    if (this.#maxSilenceMs !== Infinity && this.#changes.silenceMs() > this.#maxSilenceMs) {
      throw new KeyStatusUnknownError();
    }
    const found = this.#known.get(secret);
    if (found !== undefined || !isSecret(secret) || this.#unknown.get(secret) !== undefined) {
      return found;
    }
    return this.#lookUpOnce(secret);
  }

  #lookUpOnce(secret: string): Promise<FoundKey | undefined> {
    const underWay = this.#lookUps.get(secret);
    if (underWay !== undefined) {
      return underWay;
    }
    const found = this.#lookUp(secret);
    this.#lookUps.set(secret, found);
    return found;
  }

  async #lookUp(secret: string): Promise<FoundKey | undefined> {
    const startedIn = this.#generation;
    try {
      const found = await this.#store.findKey(hashSecret(secret));
      if (startedIn === this.#generation) {
        this.#remember(secret, found);
      }
      return found;
    } finally {
      if (startedIn === this.#generation) {
        this.#lookUps.delete(secret);
      }
    }
  }

  #remember(secret: string, found: FoundKey | undefined): void {
    if (found === undefined) {
      this.#unknown.set(secret, true);
    } else {
      this.#known.set(secret, found);
    }
  }

  #forget(): void {
    this.#generation += 1;
    this.#known.clear();
    this.#unknown.clear();
    this.#lookUps.clear();
  }
}

type KeyChanges = Pick<ExternalChangeWatcher, "subscribe" | "silenceMs">;

/** A map that forgets its oldest entry when it is full. */
class BoundedMap<Value> extends Map<string, Value> {
  readonly #maxSize: number;

  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(id: string, value: Value): this {
    if (this.size >= this.#maxSize) {
      this.delete(this.keys().next().value as string);
    }
    return super.set(id, value);
  }
}
