import { noUsage } from "../../../src/domain/limits.ts";
import { maxInt64, minInt64 } from "../../../src/domain/ranges.ts";
import { isPostgresUrl, type Store } from "../../../src/domain/store.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { openSqliteStore } from "../../../src/storage/sqlite/store.ts";
import { firstSave } from "../../support/usage-save.ts";
import {
  createContext,
  createIdempotency,
  createKey,
  createOrder,
  createPet,
  createWebhook,
  hashOf,
} from "../samples.ts";

/** Texts that a format of rows may get wrong. */
const oddTexts = ["", "\\N", "a\tb\nc\r\\", 'say "hi", {x}', "\0 and \uE000", "null", "Zoë 🐈"];

/** Opens a store, which is made where it is missing, and closes it after use. */
export async function withStoreAt<T>(location: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = isPostgresUrl(location) ? await openPostgresStore(location) : openSqliteStore(location);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Fills an empty store with rows of every table, and with the values that are hardest to move. */
export async function fillStore(store: Store, nowMs: number): Promise<void> {
  await store.importAll(
    {
      pets: [
        createPet({ id: minInt64, quantity: minInt64, status: "sold", photoUrls: oddTexts, tags: [] }),
        createPet({ id: maxInt64, quantity: maxInt64, status: "pending", photoUrls: [], tags: oddTexts }),
        ...oddTexts.map((name, index) => createPet({ id: BigInt(index), name, category: name, quantity: 10n })),
      ],
      orders: [createOrder({ id: 1n, complete: true }), createOrder({ id: maxInt64, petId: -1n, status: "delivered" })],
    },
    nowMs - 5_000,
  );
  await fillKeys(store, nowMs);
  await fillStock(store, nowMs);
  await fillWebhooks(store, nowMs);
}

async function fillKeys(store: Store, nowMs: number): Promise<void> {
  await store.createKey(createKey({ id: "key_b", name: "\0", expiresAtMs: nowMs + 1_000_000 }), hashOf("b"));
  const customQuota = { perMinute: 5, perDay: 9 };
  await store.createKey(createKey({ id: "key_a", plan: "enterprise", customQuota }), hashOf("a"));
  await store.createKey(createKey({ id: "key_c" }), hashOf("c"));
  await store.rotateKey("key_a", hashOf("new"), nowMs + 1_000);
  await store.revokeKey("key_c", nowMs);
  await store.unbanKey("key_b");
  const usage = {
    minute: { openedAtMs: nowMs, count: 3 },
    day: { openedAtMs: nowMs - 7, count: 4 },
    refusals: { openedAtMs: nowMs - 8, count: 1 },
    ban: { step: 2, endsAtMs: nowMs + 60_000 },
    unbans: 0,
  };
  const deprecatedCalls = new Map([
    ["petstore.v1.PetService/GetPet", nowMs],
    ["petstore.v1.PetService/AddPet", nowMs - 1],
  ]);
  await store.saveUsage(
    firstSave(
      { keyId: "key_a", usage, lastUsedAtMs: nowMs, deprecatedCalls },
      { keyId: "key_b", usage: { ...noUsage, unbans: 1 }, lastUsedAtMs: nowMs - 9 },
    ),
  );
}

/** Pet 1 has so many changes that marks lead into its history. The newest of the holds is gone. */
async function fillStock(store: Store, nowMs: number): Promise<void> {
  const commands = Array.from({ length: 300 }, (_, index) => {
    const note = index === 7 ? { reason: "a\tb", reference: "\\." } : {};
    return { kind: "set", petId: 1n, quantity: BigInt(index), ...note } as const;
  });
  await store.changeStockInBatch(commands, true, createContext({ nowMs: nowMs - 1_000 }));
  const idempotency = createIdempotency("order 17", "content");
  const command = { kind: "adjust", petId: 2n, delta: -1n, allowNegative: false } as const;
  await store.changeStock(command, createContext({ nowMs, idempotency }));
  const hold = (holdId: string, ttlMs: number) =>
    store.createHold(
      { holdId, petId: 2n, quantity: 1n, ttlMs, reference: holdId === "hold_a" ? undefined : "cart" },
      createContext({ nowMs }),
    );
  for (const id of ["hold_d", "hold_a", "hold_c"]) {
    await hold(id, 1_000_000);
  }
  await store.commitHold({ holdId: "hold_d" }, createContext({ nowMs }));
  await store.createHold(
    { holdId: "hold_gone", petId: 2n, quantity: 1n, ttlMs: 1, reference: undefined },
    createContext({ nowMs: nowMs - 500_000 }),
  );
  for (let isMore = true; isMore; ) {
    isMore = await store.deleteOutdated(nowMs - 400_000, nowMs);
  }
}

async function fillWebhooks(store: Store, nowMs: number): Promise<void> {
  const fresh = createWebhook({ id: "whk_b", filter: { petIds: [maxInt64, -7n], crossing: -5n } });
  await store.createWebhook(fresh);
  await store.createWebhook(createWebhook({ id: "whk_a" }));
  const progress = {
    position: 3n,
    deliveringUpTo: 5n,
    failures: 2,
    failingSinceMs: nowMs - 1,
    nextAttemptAtMs: nowMs + 100_000,
  };
  const attempt = { deliveryId: "msg_1", atMs: nowMs, durationMs: 12, changes: 2, status: undefined, fault: "refused" };
  await store.saveProgress("whk_b", { from: fresh.progress, to: progress, attempt });
  const next = { ...attempt, status: 500, fault: "500" };
  await store.saveProgress("whk_b", { from: progress, to: progress, attempt: next });
  await store.rotateWebhookSecret("whk_a", "whsec_new", nowMs + 1_000);
  await store.pauseWebhook("whk_a", "operator", nowMs);
}
