import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isPostgresUrl, type Store } from "../../src/domain/store.ts";
import { openPostgresStore } from "../../src/storage/postgres/store.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";

export const int64Max = 9223372036854775807n;
export const int64Min = -9223372036854775808n;
/** The first integer that a double cannot hold. */
export const beyondDouble = 9007199254740993n;

export interface PetRow {
  readonly id: bigint;
  readonly name: string;
  readonly category: string;
  readonly photoUrls: readonly string[];
  readonly tags: readonly string[];
  readonly status: "available" | "pending" | "sold";
  readonly quantity: bigint;
}

export interface OrderRow {
  readonly id: bigint;
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly shipDate: string;
  readonly status: "placed" | "approved" | "delivered";
  readonly complete: boolean;
}

const statuses = ["available", "pending", "sold"] as const;

/** The pets that every test starts from, by ascending id; both ends of int64 are among the ids and quantities. */
export const pets: readonly PetRow[] = [
  pet(int64Min, { quantity: int64Min, status: "sold" }),
  pet(-5n, { quantity: -1n }),
  ...[0n, 1n, 2n, 3n, 4n, 5n, 6n].map((id) => pet(id, { quantity: id, status: statuses[Number(id) % 3] ?? "sold" })),
  pet(7n, {
    name: "Zoë 犬",
    category: "dog",
    photoUrls: ["https://pets.example/7/a.jpg", "https://pets.example/7/b.jpg"],
    tags: ["Terrier", "Mix"],
    status: "pending",
    quantity: 12n,
  }),
  pet(8n, { name: "", quantity: 0n }),
  pet(beyondDouble, { quantity: beyondDouble }),
  pet(int64Max, { quantity: int64Max, status: "pending" }),
];

const orderStatuses = ["placed", "approved", "delivered"] as const;

/** The orders that every test starts from, by ascending id. The last one is for a pet that is not in the store. */
export const orders: readonly OrderRow[] = [
  ...[1n, 2n, 3n, 4n, 5n].map((id) => order(id, { status: orderStatuses[Number(id) % 3] ?? "placed" })),
  order(int64Max, { petId: int64Max - 1n, quantity: int64Max, shipDate: "2026-12-31T23:59:59.250Z", complete: true }),
];

function pet(id: bigint, fields: Partial<PetRow>): PetRow {
  const common = { name: `Pet ${id}`, category: "cat", photoUrls: [], tags: [], status: "available", quantity: 1n };
  return { id, ...common, ...fields } as PetRow;
}

function order(id: bigint, fields: Partial<OrderRow>): OrderRow {
  const common = { petId: 7n, quantity: 1n, shipDate: "2026-05-01T12:30:00Z", status: "placed", complete: false };
  return { id, ...common, ...fields } as OrderRow;
}

/** Imports the fixture into a store, which is created if it is missing. */
export async function importFixture(db: string): Promise<void> {
  if (isPostgresUrl(db)) {
    await importInto(await openPostgresStore(db));
  } else if (existsSync(db)) {
    await importInto(openSqliteStore(db));
  } else {
    filledStore ??= fillStore();
    copyFileSync(await filledStore, db);
  }
}

/** A store with the fixture in it and no key. Tests start from a copy of it: an import takes much longer. */
let filledStore: Promise<string> | undefined;

async function fillStore(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "petstore-fixture-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const db = join(folder, "petstore.db");
  await importInto(openSqliteStore(db));
  return db;
}

async function importInto(store: Store): Promise<void> {
  try {
    const dated = orders.map(({ shipDate, ...rest }) => ({ ...rest, shipDateMs: Date.parse(shipDate) }));
    await store.importAll({ pets, orders: dated }, Date.now());
    await createHolds(store);
  } finally {
    await store.close();
  }
}

/** The holds that every test starts from, on one of the pet that has the most. */
export const fixtureHolds = { held: "hold_fixture-held----", released: "hold_fixture-released" } as const;

async function createHolds(store: Store): Promise<void> {
  const nowMs = Date.now();
  const [known] = await store.listHolds({ petId: undefined, states: [], before: undefined, limit: 1 }, nowMs);
  if (known !== undefined) {
    return;
  }
  const context = { nowMs, keyId: "key_fixture000000000", requestId: "fixture" };
  const request = { petId: beyondDouble, quantity: 1n, ttlMs: 7 * 86_400_000, reference: undefined };
  await store.createHold({ ...request, holdId: fixtureHolds.held }, context);
  await store.createHold({ ...request, holdId: fixtureHolds.released }, context);
  await store.releaseHold({ holdId: fixtureHolds.released }, context);
}

/** Rows as CSV with a header line; a list's entries are separated by `;`. No value may hold a comma or a quote. */
export function toCsv(rows: readonly object[]): string {
  const lines = rows.map((row) =>
    Object.values(row)
      .map((value) => (Array.isArray(value) ? value.join(";") : String(value)))
      .join(","),
  );
  return [Object.keys(rows[0] ?? {}).join(","), ...lines, ""].join("\n");
}
