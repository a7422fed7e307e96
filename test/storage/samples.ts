import { createHash, hash } from "node:crypto";
import type { InventoryItem, Order, StockedPet } from "../../src/domain/catalog.ts";
import type { Idempotency } from "../../src/domain/idempotency.ts";
import { type Key, newKey } from "../../src/domain/key.ts";
import type { StockStore, WriteContext } from "../../src/domain/store.ts";
import { newProgress, type Webhook } from "../../src/domain/webhook.ts";

/** A pet, of which only what matters to a test need be given. */
export function createPet(pet: Partial<StockedPet> & { readonly id: bigint }): StockedPet {
  return { name: "Rex", category: "dogs", photoUrls: [], tags: [], status: "available", quantity: 0n, ...pet };
}

export function createOrder(order: Partial<Order> & { readonly id: bigint }): Order {
  return { petId: 1n, quantity: 1n, shipDateMs: 0, status: "placed", complete: false, ...order };
}

export function createKey(key: Partial<Key> & { readonly id: string }): Key {
  const settled = { name: "", plan: "free", scopes: ["inventory:read"], createdAtMs: 1_700_000_000_000 } as const;
  return newKey({ ...settled, ...key });
}

/** The hash of a secret: any 32 bytes do for the store. */
export function hashOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret).digest();
}

/** A webhook, of which only what matters to a test need be given. */
export function createWebhook(webhook: Partial<Webhook> & { readonly id: string }): Webhook {
  return {
    url: "https://receiver.example/stock",
    filter: { petIds: [], crossing: undefined },
    createdAtMs: 1_700_000_000_000,
    secret: "whsec_a",
    formerSecret: undefined,
    paused: undefined,
    progress: newProgress(0n),
    ...webhook,
  };
}

/** All entries of a list. */
export const everything = { statuses: [], after: undefined, limit: undefined } as const;

/** Who makes a write, and when: of which only what matters to a test need be given. */
export function createContext(context: Partial<WriteContext> = {}): WriteContext {
  return { nowMs: 1_700_000_000_000, keyId: "key_a", requestId: "request", ...context };
}

/** A caller's idempotency key, for a request of some content. */
export function createIdempotency(key: string, content = ""): Idempotency {
  return { key, fingerprint: hash("sha256", content) };
}

/** Sets the stock count of a pet, and returns its entry as lists have it. */
export async function setStock(store: StockStore, petId: bigint, quantity: bigint): Promise<InventoryItem> {
  const { value } = await store.changeStock({ kind: "set", petId, quantity }, createContext());
  return { petId: value.petId, quantity: value.quantity, status: value.status };
}
