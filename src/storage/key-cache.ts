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
export function createKeyCache(
  store: Pick<KeyStore, "findKey">,
  changes: Pick<ExternalChangeWatcher, "subscribe" | "silenceMs">,
  maxSilenceMs = Infinity,
): KeyFinder {
  const known = new BoundedMap<FoundKey>(maxSecrets);
  const unknown = new BoundedMap<true>(maxUnknownSecrets);
  const lookUps = new Map<string, Promise<FoundKey | undefined>>();
  let generation = 0;
  changes.subscribe("keys", () => {
    generation += 1;
    known.clear();
    unknown.clear();
    lookUps.clear();
  });

  async function lookUp(secret: string): Promise<FoundKey | undefined> {
    const startedIn = generation;
    try {
      const found = await store.findKey(hashSecret(secret));
      if (startedIn === generation) {
        if (found === undefined) {
          unknown.set(secret, true);
        } else {
          known.set(secret, found);
        }
      }
      return found;
    } finally {
      if (startedIn === generation) {
        lookUps.delete(secret);
      }
    }
  }

  function lookUpOnce(secret: string): Promise<FoundKey | undefined> {
    const underWay = lookUps.get(secret);
    if (underWay !== undefined) {
      return underWay;
    }
    const found = lookUp(secret);
    lookUps.set(secret, found);
    return found;
  }

  return {
    async find(secret) {
      if (maxSilenceMs !== Infinity && changes.silenceMs() > maxSilenceMs) {
        throw new KeyStatusUnknownError();
      }
      const found = known.get(secret);
      if (found !== undefined || !isSecret(secret) || unknown.get(secret) !== undefined) {
        return found;
      }
      return lookUpOnce(secret);
    },
  };
}

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
