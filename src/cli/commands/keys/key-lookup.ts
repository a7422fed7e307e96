import type { Key } from "../../../domain/key.ts";
import type { KeyOutcome } from "../../../domain/key-store.ts";
import type { Store } from "../../../domain/store.ts";
import { Failure } from "../../failure.ts";
import { printableJsonLine } from "../../print/printable.ts";
import { formatMinute } from "../../print/time.ts";

/** The key with an id. Throws a `Failure` when there is none. */
export async function requireKey(store: Store, id: string): Promise<Key> {
  const key = await store.getKey(id);
  if (key === undefined) {
    throw unknownKey(id);
  }
  return key;
}

/** The outcome of a change, for a key that exists. Throws a `Failure` when there is none. */
export function requireKnown(outcome: KeyOutcome, id: string): Exclude<KeyOutcome, { outcome: "unknown" }> {
  if (outcome.outcome === "unknown") {
    throw unknownKey(id);
  }
  return outcome;
}

/** A key takes no change any more. `advice` says what to do instead. */
export function revokedFailure({ id, revokedAtMs = 0 }: Key, advice: string): Failure {
  return new Failure(`${id} was revoked on ${formatMinute(revokedAtMs)}, for good: ${advice}`);
}

/** The store has the new id or secret already: drawn twice, which never happens, or stored by a try that seemed to fail. */
export function takenFailure(): Failure {
  return new Failure("the store has this key already, so that nothing was changed: try again");
}

function unknownKey(id: string): Failure {
  return new Failure(`there is no key ${printableJsonLine(id)}; 'petstore keys list --all' shows them all`);
}
