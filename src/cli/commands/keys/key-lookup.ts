import { type Key, mayHoldSecret } from "../../../domain/key.ts";
import type { KeyOutcome } from "../../../domain/store/key-store.ts";
import type { Store } from "../../../domain/store/store.ts";
import { Failure } from "../../failure.ts";
import { formatMinute } from "../../print/number.ts";
import { printableJsonLine } from "../../print/terminal.ts";

/** The key with an id. Throws a `Failure` when there is none. */
export async function requireKey(store: Store, id: string): Promise<Key> {
  const key = await store.getKey(id);
  if (key === undefined) {
    throw unknownKey(id);
  }
  return key;
}

/** The outcome of a change. Throws a `Failure` when the key does not exist. */
export function requireKnown(outcome: KeyOutcome, id: string): Exclude<KeyOutcome, { outcome: "unknown" }> {
  if (outcome.outcome === "unknown") {
    throw unknownKey(id);
  }
  return outcome;
}

/** The failure of a change to a revoked key. `advice` says what to do instead. */
export function revokedFailure({ id, revokedAtMs = 0 }: Key, advice: string): Failure {
  return new Failure(`${id} was revoked on ${formatMinute(revokedAtMs)}, for good: ${advice}`);
}

/** The failure of a creation that an earlier try, which seemed to fail, has completed. */
export function takenFailure(): Failure {
  return new Failure("the store already has this key, so nothing was changed: try again");
}

function unknownKey(id: string): Failure {
  const advice = "'petstore keys list --all' lists all keys";
  // Logs keep what stands on stderr, and a secret must be in none.
  return new Failure(
    mayHoldSecret(id)
      ? `a key is named by its id, not by its secret; ${advice}`
      : `there is no key ${printableJsonLine(id)}; ${advice}`,
  );
}
