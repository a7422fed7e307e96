import { randomBytes } from "node:crypto";
import { drawBase62 } from "../../domain/base62.ts";
import { type Key, scopes } from "../../domain/key.ts";
import { hashSecret, mintSecret } from "../../domain/key-secret.ts";
import { planQuotas } from "../../domain/plan.ts";
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
  const secret = mintSecret(randomBytes);
  await store.createKey(demoKey(nowMs), hashSecret(secret));
  return secret;
}

function isLiveDemo({ id, revokedAtMs }: Key): boolean {
  return id.startsWith(demoIdPrefix) && revokedAtMs === undefined;
}

function demoKey(nowMs: number): Key {
  return {
    id: demoIdPrefix + drawBase62(16, randomBytes),
    name: "demo",
    plan: "pro",
    quota: planQuotas.pro,
    scopes,
    createdAtMs: nowMs,
    expiresAtMs: undefined,
    lastUsedAtMs: undefined,
    revokedAtMs: undefined,
    unbans: 0,
  };
}
