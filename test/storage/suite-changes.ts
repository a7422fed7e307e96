import { describe, expect, it } from "vitest";
import { noUsage } from "../../src/domain/limits.ts";
import type { ChangeTopic, Store } from "../../src/domain/store.ts";
import { newProgress } from "../../src/domain/webhook.ts";
import { firstSave } from "../support/usage-save.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createKey, createOrder, createPet, createWebhook, hashOf, setStock } from "./samples.ts";

const key = createKey({ id: "key_a" });
const usage = { ...noUsage, day: { openedAtMs: 5, count: 7 } };

const writes: [name: string, topics: ChangeTopic[], write: (store: Store) => Promise<unknown>][] = [
  ["an update of the stock", ["stock"], (store) => setStock(store, 1n, 2n)],
  ["an import of pets", ["stock"], (store) => store.importAll({ pets: [createPet({ id: 2n })] }, 0)],
  ["an import of orders", ["stock"], (store) => store.importAll({ orders: [createOrder({ id: 1n })] }, 0)],
  ["an import of nothing", [], (store) => store.importAll({ pets: [] }, 0)],
  ["an update of an unknown pet", [], (store) => setStock(store, 9n, 2n).catch(() => {})],
  ["a new key", ["keys"], (store) => store.createKey(createKey({ id: "key_b" }), hashOf("b"))],
  ["a rotation", ["keys"], (store) => store.rotateKey("key_a", hashOf("b"), 1)],
  ["a revocation", ["keys"], (store) => store.revokeKey("key_a", 1)],
  ["an unban", ["keys"], (store) => store.unbanKey("key_a")],
  ["other settings", ["keys"], (store) => store.updateKey(key, { ...key, name: "Other" })],
  ["saved usage", ["usage"], (store) => store.saveUsage(firstSave({ keyId: "key_a", usage, lastUsedAtMs: 1 }))],
  ["a new webhook", ["webhooks"], (store) => store.createWebhook(createWebhook({ id: "whk_a" }))],
  ["a webhook that is paused", ["webhooks"], (store) => store.pauseWebhook("whk_b", "operator", 1)],
  ["a webhook that is resumed", ["webhooks"], (store) => store.resumeWebhook("whk_b", 1n)],
  ["another signing secret", ["webhooks"], (store) => store.rotateWebhookSecret("whk_b", "other", 1)],
  ["a webhook that is deleted", ["webhooks"], (store) => store.deleteWebhook("whk_b")],
  ["a delivery", [], (store) => store.saveProgress("whk_b", { from: newProgress(0n), to: newProgress(1n) })],
  ["the record of a backup", [], async (store) => store.maintenance?.recordBackup({ takenAtMs: 1, bytes: 1 })],
  [
    "reading",
    [],
    async (store) => {
      await store.listKeys();
      await store.ready();
    },
  ],
];

export function describeChanges(open: OpenStore): void {
  describe("the change tokens", () => {
    it.each(writes)("tell others of %s, by the topics %j", (_, topics, write) =>
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
        await store.createKey(key, hashOf("a"));
        const before = await other.changeTokens();
        await write(store);
        expect(await changedSince(before, other)).toEqual(topics);
      })(),
    );

    it.each(writes)("tell a store nothing of its own writes, imports apart: %s", (name, _, write) =>
      withStore(open, async ({ store, openAnother }) => {
        await (await openAnother()).importAll({ pets: [createPet({ id: 1n })] }, 0);
        await store.createKey(key, hashOf("a"));
        const before = await store.changeTokens();
        await write(store);
        const isImport = /import of (pets|orders)/.test(name);
        expect(await changedSince(before, store)).toEqual(isImport ? ["stock"] : []);
      })(),
    );

    it(
      "do not miss a change by another store between two of one's own",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
        const before = await store.changeTokens();
        await setStock(store, 1n, 1n);
        await setStock(other, 1n, 2n);
        await setStock(store, 1n, 3n);
        expect(await changedSince(before, store)).toEqual(["stock"]);
      }),
    );
  });
}

async function changedSince(before: Awaited<ReturnType<Store["changeTokens"]>>, store: Store): Promise<string[]> {
  const now = await store.changeTokens();
  return Object.keys(now).filter((topic) => now[topic as ChangeTopic] !== before[topic as ChangeTopic]);
}
