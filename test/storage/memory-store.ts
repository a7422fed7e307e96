import { isDeepStrictEqual } from "node:util";
import {
  type ImportCounts,
  type ImportResult,
  type Imports,
  maxStrayPets,
  type Order,
  type OrderStatus,
  type Pet,
  type RecordChange,
  type StockedPet,
  UnknownRecordError,
} from "../../src/domain/catalog.ts";
import { petNotFound } from "../../src/domain/errors.ts";
import { type FoundKey, foundKey, type Key, type KeySettings, settingsOf } from "../../src/domain/key.ts";
import { noUsage, type Usage } from "../../src/domain/limits.ts";
import type {
  ChangeTokens,
  ChangeTopic,
  KeyCounts,
  KeyCreation,
  KeyOutcome,
  KeyUsage,
  ListQuery,
  ProgressStep,
  Store,
  UsageSave,
} from "../../src/domain/store.ts";
import { isSameUsage, mergeUsage } from "../../src/domain/usage-merge.ts";
import {
  type DeliveryAttempt,
  newProgress,
  type PauseReason,
  type Webhook,
  type WebhookProgress,
} from "../../src/domain/webhook.ts";
import { MemoryStock, StockData } from "./memory-stock.ts";

interface Secret {
  readonly keyId: string;
  readonly expiresAtMs: number | undefined;
}

/** What the handles of one store share. */
export class MemoryData extends StockData {
  orders: ReadonlyMap<bigint, Order> = new Map();
  readonly keys = new Map<string, Key>();
  /** By the hash in hexadecimal. */
  readonly secrets = new Map<string, Secret>();
  readonly usage = new Map<string, KeyUsage>();
  readonly webhooks = new Map<string, Webhook>();
  /** By webhook, the newest first. */
  readonly attempts = new Map<string, readonly DeliveryAttempt[]>();
  /** The number of each server's last save. */
  readonly saves = new Map<string, number>();
  readonly changes: Record<ChangeTopic, number> = { keys: 0, stock: 0, usage: 0, webhooks: 0 };
}

/** The model of a store: what the suite demands, over plain maps. It is one handle on its data. */
export class MemoryStore extends MemoryStock implements Store {
  readonly maintenance = undefined;
  readonly gauges = [];
  readonly webhookClaimMs: number = Infinity;
  readonly #data: MemoryData;
  readonly #ownChanges: Record<ChangeTopic, number> = { keys: 0, stock: 0, usage: 0, webhooks: 0 };

  constructor(data: MemoryData) {
    super(data);
    this.#data = data;
  }

  async now(): Promise<number> {
    return Date.now();
  }

  async importAll({ pets = [], orders = [] }: Imports, nowMs?: number): Promise<ImportResult> {
    const staged = { pets: await Array.fromAsync(pets), orders: await Array.fromAsync(orders) };
    const [allPets, petCounts] = merge("pets", this.#data.pets, staged.pets);
    const [allOrders, orderCounts] = merge("orders", this.#data.orders, staged.orders);
    const strayOrders = [...new Map(staged.orders.map((order) => [order.id, order])).values()]
      .flatMap(({ petId }) => petId ?? [])
      .filter((petId) => !allPets.has(petId));
    const petIds = [...new Set(strayOrders)].sort((a, b) => (a < b ? -1 : 1));
    this.#noteImported(allPets, staged.pets, nowMs ?? Date.now());
    this.#data.pets = allPets;
    this.#data.orders = allOrders;
    if (staged.pets.length + staged.orders.length > 0) {
      this.#data.changes.stock += 1;
    }
    const strays = { count: strayOrders.length, petCount: petIds.length, petIds: petIds.slice(0, maxStrayPets) };
    return { pets: petCounts, orders: orderCounts, strays };
  }

  async getPet(id: bigint): Promise<Pet> {
    const pet = this.#data.pets.get(id);
    if (pet === undefined) {
      throw petNotFound(id);
    }
    const { quantity: _, ...rest } = pet;
    return rest;
  }

  async *exportPets(): AsyncGenerator<StockedPet> {
    yield* sorted(this.#data.pets);
  }

  async countPets(): Promise<number> {
    return this.#data.pets.size;
  }

  async listOrders(query: ListQuery<OrderStatus>): Promise<Order[]> {
    return select(this.#data.orders, query);
  }

  async *exportOrders(): AsyncGenerator<Order> {
    yield* sorted(this.#data.orders);
  }

  async countOrders(): Promise<number> {
    return this.#data.orders.size;
  }

  async createKey(key: Key, secretHash: Uint8Array): Promise<KeyCreation> {
    if (this.#data.keys.has(key.id) || this.#data.secrets.has(hexOf(secretHash))) {
      return "taken";
    }
    this.#data.keys.set(key.id, key);
    this.#data.secrets.set(hexOf(secretHash), { keyId: key.id, expiresAtMs: undefined });
    this.#noteOwn("keys");
    return "created";
  }

  async findKey(secretHash: Uint8Array): Promise<FoundKey | undefined> {
    const secret = this.#data.secrets.get(hexOf(secretHash));
    const key = secret && (await this.getKey(secret.keyId));
    return key && foundKey(key, secret.expiresAtMs);
  }

  async getKey(id: string): Promise<Key | undefined> {
    const key = this.#data.keys.get(id);
    return key && { ...key, lastUsedAtMs: this.#data.usage.get(id)?.lastUsedAtMs };
  }

  async listKeys(): Promise<Key[]> {
    return Array.fromAsync(this.#data.keys.keys(), async (id) => (await this.getKey(id)) as Key);
  }

  async countKeys(atMs: number): Promise<KeyCounts> {
    const counts = { free: 0, pro: 0, business: 0, enterprise: 0 };
    for (const { plan, revokedAtMs, expiresAtMs = Infinity } of this.#data.keys.values()) {
      counts[plan] += revokedAtMs === undefined && expiresAtMs > atMs ? 1 : 0;
    }
    return counts;
  }

  async listOldSecretEnds(id: string, atMs: number): Promise<number[]> {
    const { revokedAtMs, expiresAtMs: keyEndMs = Infinity } = this.#data.keys.get(id) ?? {};
    return [...this.#data.secrets.values()]
      .flatMap(({ keyId, expiresAtMs }) => (keyId === id ? [Math.min(expiresAtMs ?? -Infinity, keyEndMs)] : []))
      .filter(() => revokedAtMs === undefined)
      .filter((endMs) => endMs > atMs)
      .sort((a, b) => a - b);
  }

  async rotateKey(id: string, secretHash: Uint8Array, oldSecretsExpireAtMs: number): Promise<KeyOutcome> {
    return this.#change(id, () => {
      if (this.#data.secrets.has(hexOf(secretHash))) {
        return "taken";
      }
      for (const [hash, { keyId, expiresAtMs = Infinity }] of this.#data.secrets) {
        if (keyId === id) {
          this.#data.secrets.set(hash, { keyId, expiresAtMs: Math.min(expiresAtMs, oldSecretsExpireAtMs) });
        }
      }
      this.#data.secrets.set(hexOf(secretHash), { keyId: id, expiresAtMs: undefined });
      return {};
    });
  }

  async revokeKey(id: string, revokedAtMs: number): Promise<KeyOutcome> {
    return this.#change(id, () => ({ revokedAtMs }));
  }

  async unbanKey(id: string): Promise<KeyOutcome> {
    return this.#change(id, ({ unbans }) => ({ unbans: unbans + 1 }));
  }

  async updateKey(former: Key, settings: KeySettings): Promise<KeyOutcome> {
    return this.#change(former.id, (key) =>
      isDeepStrictEqual(settingsOf(key), settingsOf(former)) ? settingsOf(settings) : "stale",
    );
  }

  async loadUsage(keyId: string): Promise<Usage | undefined> {
    return this.#data.usage.get(keyId)?.usage;
  }

  async getUsage(keyId: string): Promise<KeyUsage | undefined> {
    return this.#data.usage.get(keyId);
  }

  async listUsage(): Promise<KeyUsage[]> {
    return [...this.#data.usage.values()];
  }

  async saveUsage({ server, number, usages }: UsageSave): Promise<ReadonlyMap<string, Usage>> {
    const known = usages.filter(({ keyId }) => this.#data.keys.has(keyId));
    if (number > (this.#data.saves.get(server) ?? 0)) {
      this.#data.saves.set(server, number);
      for (const { base, ...counted } of known) {
        this.#data.usage.set(counted.keyId, this.#merge(counted, base));
      }
      this.#noteOwn("usage");
    }
    const stored = known.map(
      ({ keyId, usage }) => [keyId, this.#data.usage.get(keyId)?.usage ?? usage, usage] as const,
    );
    return new Map(stored.filter(([, now, own]) => !isSameUsage(now, own)).map(([keyId, now]) => [keyId, now]));
  }

  async createWebhook(webhook: Webhook): Promise<void> {
    this.#data.webhooks.set(webhook.id, webhook);
    this.#noteOwn("webhooks");
  }

  async listWebhooks(): Promise<Webhook[]> {
    return [...this.#data.webhooks.values()];
  }

  claimWebhooks(): Promise<Webhook[]> {
    return this.listWebhooks();
  }

  async releaseWebhooks(): Promise<void> {}

  async getWebhook(id: string): Promise<Webhook | undefined> {
    return this.#data.webhooks.get(id);
  }

  async deleteWebhook(id: string): Promise<boolean> {
    this.#noteOwn("webhooks");
    this.#data.attempts.delete(id);
    return this.#data.webhooks.delete(id);
  }

  async pauseWebhook(
    id: string,
    reason: PauseReason,
    atMs: number,
    judged?: WebhookProgress,
  ): Promise<Webhook | undefined> {
    return this.#changeWebhook(id, ({ paused = { reason, atMs }, progress }) =>
      judged === undefined || isDeepStrictEqual(progress, judged) ? { paused } : {},
    );
  }

  async resumeWebhook(id: string, position: bigint | undefined): Promise<Webhook | undefined> {
    return this.#changeWebhook(id, ({ progress }) => ({
      paused: undefined,
      progress:
        position === undefined
          ? { ...newProgress(progress.position), deliveringUpTo: progress.deliveringUpTo }
          : newProgress(position),
    }));
  }

  async rotateWebhookSecret(id: string, secret: string, endsAtMs: number): Promise<Webhook | undefined> {
    return this.#changeWebhook(id, (former) => ({ secret, formerSecret: { secret: former.secret, endsAtMs } }));
  }

  async saveProgress(id: string, { from, to, attempt }: ProgressStep): Promise<boolean> {
    const webhook = this.#data.webhooks.get(id);
    if (webhook === undefined) {
      return false;
    }
    const { position, deliveringUpTo } = webhook.progress;
    const stored = to.failures === 0 ? { ...from, position, deliveringUpTo } : webhook.progress;
    if (!isDeepStrictEqual(stored, from)) {
      return false;
    }
    this.#data.webhooks.set(id, { ...webhook, progress: to });
    if (attempt !== undefined) {
      this.#data.attempts.set(id, [attempt, ...(this.#data.attempts.get(id) ?? [])].slice(0, 100));
    }
    return true;
  }

  async listAttempts(id: string, limit: number): Promise<DeliveryAttempt[]> {
    return (this.#data.attempts.get(id) ?? []).slice(0, limit);
  }

  #changeWebhook(id: string, change: (webhook: Webhook) => Partial<Webhook>): Webhook | undefined {
    this.#noteOwn("webhooks");
    const webhook = this.#data.webhooks.get(id);
    if (webhook !== undefined) {
      this.#data.webhooks.set(id, { ...webhook, ...change(webhook) });
    }
    return this.#data.webhooks.get(id);
  }

  async changeTokens(): Promise<ChangeTokens> {
    const { keys, stock, usage, webhooks } = this.#data.changes;
    const own = this.#ownChanges;
    return {
      keys: keys - own.keys,
      stock: stock - own.stock,
      usage: usage - own.usage,
      webhooks: webhooks - own.webhooks,
    };
  }

  async ready(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
  }

  async close(): Promise<void> {}

  protected override noteOwnStock(changes: number): void {
    this.#data.changes.stock += changes;
    this.#ownChanges.stock += changes;
  }

  /** Each pet whose quantity or status is written is a change, in the order of ids. */
  #noteImported(
    pets: ReadonlyMap<bigint, StockedPet>,
    imported: readonly RecordChange<StockedPet>[],
    occurredAtMs: number,
  ): void {
    const written = imported.filter(({ quantity, status }) => quantity !== undefined || status !== undefined);
    for (const id of [...new Set(written.map((pet) => pet.id))].sort((a, b) => (a < b ? -1 : 1))) {
      this.#data.note(id, {
        before: this.#data.pets.get(id)?.quantity,
        after: (pets.get(id) as StockedPet).quantity,
        kind: "import",
        reason: undefined,
        reference: undefined,
        keyId: undefined,
        requestId: undefined,
        occurredAtMs,
      });
    }
  }

  #noteOwn(topic: ChangeTopic): void {
    this.#data.changes[topic] += 1;
    this.#ownChanges[topic] += 1;
  }

  #merge({ keyId, usage, lastUsedAtMs, deprecatedCalls }: KeyUsage, base: Usage): KeyUsage {
    const stored = this.#data.usage.get(keyId);
    const calls = new Map(stored?.deprecatedCalls);
    for (const [method, atMs] of deprecatedCalls ?? []) {
      calls.set(method, Math.max(atMs, calls.get(method) ?? 0));
    }
    return {
      keyId,
      usage: mergeUsage(stored?.usage ?? noUsage, { base, usage, atMs: lastUsedAtMs }),
      lastUsedAtMs: Math.max(lastUsedAtMs, stored?.lastUsedAtMs ?? 0),
      deprecatedCalls: calls,
    };
  }

  /** Changes a key that takes changes. `apply` gives the fields that change, or why none does. */
  #change(id: string, apply: (key: Key) => Partial<Key> | "stale" | "taken"): KeyOutcome {
    const stored = this.#data.keys.get(id);
    if (stored === undefined) {
      return { outcome: "unknown" };
    }
    const key = { ...stored, lastUsedAtMs: this.#data.usage.get(id)?.lastUsedAtMs };
    if (key.revokedAtMs !== undefined) {
      return { outcome: "revoked", key };
    }
    const change = apply(key);
    if (typeof change === "string") {
      return { outcome: change, key };
    }
    this.#data.keys.set(id, { ...stored, ...change });
    this.#noteOwn("keys");
    return { outcome: "done", key: { ...key, ...change } };
  }
}

/** All records once others are merged in, and how many of those were created, replaced and changed. */
function merge<Item extends { readonly id: bigint }>(
  kind: "pets" | "orders",
  stored: ReadonlyMap<bigint, Item>,
  changes: readonly RecordChange<Item>[],
): [ReadonlyMap<bigint, Item>, ImportCounts] {
  const merged = new Map(stored);
  const whole = new Set<bigint>();
  for (const change of changes) {
    const known = merged.get(change.id);
    if (isWhole(kind, change)) {
      whole.add(change.id);
    } else if (known === undefined) {
      throw new UnknownRecordError(kind, change.id);
    }
    merged.set(change.id, { ...known, ...change } as Item);
  }
  const ids = [...new Set(changes.map(({ id }) => id))];
  const created = ids.filter((id) => !stored.has(id)).length;
  const replaced = ids.filter((id) => stored.has(id) && whole.has(id)).length;
  return [merged, { created, replaced, changed: ids.length - created - replaced }];
}

const fieldCounts = { pets: 7, orders: 6 };

function isWhole(kind: "pets" | "orders", record: object): boolean {
  return Object.values(record).filter((value) => value !== undefined).length === fieldCounts[kind];
}

function select<Item extends { readonly id: bigint; readonly status: Status }, Status>(
  items: ReadonlyMap<bigint, Item>,
  { statuses, after, limit }: ListQuery<Status>,
): Item[] {
  return sorted(items)
    .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
    .filter(({ id }) => after === undefined || id > after)
    .slice(0, limit);
}

function sorted<Item extends { readonly id: bigint }>(items: ReadonlyMap<bigint, Item>): Item[] {
  return [...items.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function hexOf(hash: Uint8Array): string {
  return Buffer.from(hash).toString("hex");
}
