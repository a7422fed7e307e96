import type { Key } from "../domain/key.ts";
import type { Store } from "../domain/store.ts";
import { Failure } from "./failure.ts";
import { printableJsonLine } from "./printable.ts";

/** The key with an id. Throws a `Failure` when there is none. */
export async function requireKey(store: Store, id: string): Promise<Key> {
  const key = await store.getKey(id);
  if (key === undefined) {
    throw new Failure(`there is no key ${printableJsonLine(id)}; 'petstore keys list' shows them all`);
  }
  return key;
}
