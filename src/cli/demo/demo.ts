import { randomBytes } from "node:crypto";
import { drawBase62, hashSecret, type Key, mintSecret, newKey } from "../../domain/key.ts";
import type { Store } from "../../domain/store.ts";

/**
 * Prepares a store for a demo: imports pets and orders if it has no pets, and creates a new key. Returns the secret of
 * the key.
 */
export async function prepareDemo(store: Store): Promise<string> {
  const secret = await renewDemoKey(store);
  await importSamples(store);
  return secret;
}

async function importSamples(store: Store): Promise<void> {
  if ((await store.countPets()) > 0) {
    return;
  }
  // Only the first demo of a store needs them.
  const { sampleOrders, samplePets } = await import("./samples.ts");
  await store.importAll({ pets: samplePets, orders: sampleOrders });
}

// The ids of other keys never begin with this, because they have no second underscore.
const demoIdPrefix = "key_demo_";

/** Creates a Pro key for the demo, and revokes those of former demos. Returns the secret. */
async function renewDemoKey(store: Store): Promise<string> {
  const nowMs = await store.now();
  for (const key of await store.listKeys()) {
    if (isLiveDemo(key)) {
      await store.revokeKey(key.id, nowMs);
    }
  }
  const id = demoIdPrefix + drawBase62(16, randomBytes);
  const key = newKey({ id, name: "demo", plan: "pro", createdAtMs: nowMs });
  const secret = mintSecret(randomBytes);
  if ((await store.createKey(key, hashSecret(secret))) === "taken") {
    throw new Error(`the store has the key ${id} already`);
  }
  return secret;
}

function isLiveDemo({ id, revokedAtMs }: Key): boolean {
  return id.startsWith(demoIdPrefix) && revokedAtMs === undefined;
}
