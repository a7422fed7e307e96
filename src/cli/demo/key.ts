import { randomBytes } from "node:crypto";
import { drawBase62 } from "../../domain/base62.ts";
import { type Key, newKey } from "../../domain/key.ts";
import { hashSecret, mintSecret } from "../../domain/key-secret.ts";
import type { Store } from "../../domain/store.ts";

// The ids of all other keys have no second underscore: whatever they are named, they are not the demo's.
const demoIdPrefix = "key_demo_";

/** Creates a Pro key for the demo, revokes those of former demos, and gives the new one's secret. */
export async function renewDemoKey(store: Store): Promise<string> {
  const nowMs = Date.now();
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
