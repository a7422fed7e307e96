import type { DomainError } from "../../src/domain/errors.ts";
import type { AdjustStock, SetStock, StockCommand, StockEntry } from "../../src/domain/stock.ts";
import type { StockStore, WriteContext } from "../../src/domain/store.ts";
import { type OpenedStore, type OpenStore, withStore } from "./opened-store.ts";
import { createContext, createPet } from "./samples.ts";

export function set(petId: bigint, quantity: bigint, more: Partial<SetStock> = {}): SetStock {
  return { kind: "set", petId, quantity, ...more };
}

export function adjust(petId: bigint, delta: bigint, more: Partial<AdjustStock> = {}): AdjustStock {
  return { kind: "adjust", petId, delta, allowNegative: false, ...more };
}

/** Does a command, and returns the entry. */
export async function change(
  store: StockStore,
  command: StockCommand,
  context?: Partial<WriteContext>,
): Promise<StockEntry> {
  return (await store.changeStock(command, createContext(context))).value;
}

/** The codes of the errors that calls reject with; "done" for those that do not. */
export async function codesOf(calls: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((call) => (call.status === "fulfilled" ? "done" : (call.reason as DomainError).code));
}

/** Runs a test on a store with three pets, of which there are 10, 20 and 30. */
export function withPets(open: OpenStore, test: (opened: OpenedStore) => Promise<void>): () => Promise<void> {
  return withStore(open, async (opened) => {
    const pets = [1n, 2n, 3n].map((id) => createPet({ id, quantity: 10n * id }));
    await opened.store.importAll({ pets }, 0);
    await test(opened);
  });
}

/** Deletes all that is past its time, step by step. */
export async function deleteAllOutdated(store: StockStore, keptSinceMs: number, nowMs: number): Promise<void> {
  for (let isMore = true; isMore; ) {
    isMore = await store.deleteOutdated(keptSinceMs, nowMs);
  }
}
