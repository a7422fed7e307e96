import type { FoundKey } from "../domain/key.ts";
import { hashSecret, isSecret } from "../domain/key-secret.ts";
import type { KeyStore } from "../domain/store.ts";
import type { KeyFinder } from "../interceptors/auth.ts";
import type { ExternalChangeWatcher } from "./external-changes.ts";

/** The most keys that are remembered, some 5 MB. Past it those known for longest are forgotten. */
const maxKeys = 10_000;

/**
 * Finds keys by their secrets, and remembers those that it found: to hash a secret and look it up costs as much as all
 * the rest of a small request. Keys are only ever changed by other processes, so any write of theirs voids it all.
 */
export function createKeyCache(store: KeyStore, externalChanges: ExternalChangeWatcher): KeyFinder {
  const known = new Map<string, FoundKey>();
  let generation = 0;
  externalChanges.subscribe(() => {
    generation += 1;
    known.clear();
  });

  async function lookUp(secret: string): Promise<FoundKey | undefined> {
    const startedIn = generation;
    const found = isSecret(secret) ? await store.findKey(hashSecret(secret)) : undefined;
    if (found !== undefined && startedIn === generation) {
      remember(secret, found);
    }
    return found;
  }

  function remember(secret: string, found: FoundKey): void {
    if (known.size >= maxKeys) {
      known.delete(known.keys().next().value as string);
    }
    known.set(secret, found);
  }

  return { find: (secret) => known.get(secret) ?? lookUp(secret) };
}
