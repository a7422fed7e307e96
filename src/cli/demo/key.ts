import { randomBytes } from "node:crypto";
import { type Key, scopes } from "../../domain/key.ts";
import { hashSecret, mintKeyId, mintSecret } from "../../domain/key-secret.ts";
import { planQuotas } from "../../domain/plan.ts";
import type { Store } from "../../domain/store.ts";

const demoName = "demo";

/** Creates a Pro key named `demo`, revokes the former ones, and gives the new one's secret. */
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

function isLiveDemo({ name, plan, revokedAtMs }: Key): boolean {
  return name === demoName && plan === "pro" && revokedAtMs === undefined;
}

function demoKey(nowMs: number): Key {
  return {
    id: mintKeyId(randomBytes),
    name: demoName,
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
