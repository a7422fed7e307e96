import { setImmediate, setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { RegistrationOptions } from "../../../src/domain/store.ts";
import { newProgress, type Webhook } from "../../../src/domain/webhook.ts";
import { StockRevision } from "../../../src/services/stock-revision.ts";
import { notifyIntervalMs } from "../../../src/storage/postgres/change-tokens.ts";
import { Connection } from "../../../src/storage/postgres/connection/connection.ts";
import { parseDatabaseUrl } from "../../../src/storage/postgres/connection/database-url.ts";
import type { Pool } from "../../../src/storage/postgres/connection/pool.ts";
import { registerServer } from "../../../src/storage/postgres/servers.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/storage/postgres/store.ts";
import { borrowDatabase, createDatabase, runSql, type TestDatabase } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { createKey, createPet, createWebhook, hashOf, setStock } from "../samples.ts";

async function openStores(count: number): Promise<{ database: TestDatabase; stores: PostgresStore[] }> {
  const database = await borrowDatabase();
  const stores = await Promise.all(Array.from({ length: count }, () => openPostgresStore(database.url)));
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await database.remove();
  });
  return { database, stores };
}

function optionsOf(options: Partial<RegistrationOptions> = {}): RegistrationOptions {
  return { version: "1.2.3", countsAlone: true, replaced: () => {}, ...options };
}

function idsOf(webhooks: readonly Webhook[]): string[] {
  return webhooks.map(({ id }) => id);
}

describe.skipIf(postgresPrograms === undefined)("servers of one PostgreSQL database", () => {
  it("are listed while they live, with their versions", async () => {
    const { stores } = await openStores(2);
    const [one, two] = stores as [PostgresStore, PostgresStore];
    const shared = optionsOf({ countsAlone: false });
    const [first, second] = [await one.registerServer(shared), await two.registerServer(shared)];
    const listed = await one.listServers();
    expect(listed.map(({ id, version, isSelf }) => [id, version, isSelf])).toEqual([
      [first.id, "1.2.3", true],
      [second.id, "1.2.3", false],
    ]);
    // They share the database's clock.
    expect(Math.abs(first.clock() - (listed[0]?.startedAtMs ?? 0))).toBeLessThan(5_000);
    expect(Math.abs(first.clock() - second.clock())).toBeLessThan(500);
    await first.release();
    expect((await two.listServers()).map(({ id }) => id)).toEqual([second.id]);
    await second.release();
  });

  it("read the database's clock though it shows few digits of a number", async () => {
    const database = await createDatabase();
    onTestFinished(() => database.remove());
    const { pathname } = new URL(database.url);
    await runSql(database.url, `ALTER DATABASE ${pathname.slice(1)} SET extra_float_digits = -15`);
    const store = await openPostgresStore(database.url);
    const registration = await store.registerServer(optionsOf());
    for (const timeMs of [await store.now(), registration.clock()]) {
      expect(Math.abs(timeMs - Date.now())).toBeLessThan(5_000);
    }
    await registration.release();
    await store.close();
  });

  it.each(["", ", lineage = 'ba9876543210'"])("follow a database that is put back: revision = 2%s", async (lineage) => {
    const { stores, database } = await openStores(1);
    const [store] = stores as [PostgresStore];
    await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] }, 0);
    const heard: string[] = [];
    const listener = {
      changed: (petId: bigint, revision: bigint) => heard.push(`${revision}: ${petId}`),
      allChanged: (revision: bigint) => heard.push(`${revision}: all`),
    };
    const revision = new StockRevision(store, listener, {
      isShared: true,
      stopping: new AbortController().signal,
    });
    await setStock(store, 1n, 5n);
    await setStock(store, 1n, 6n);
    expect(await revision.caughtUp()).toMatchObject({ revision: 4n });
    await runSql(database.url, "DELETE FROM changes WHERE revision > 2");
    await runSql(database.url, `UPDATE head SET revision = 2${lineage}`);
    await setStock(store, 2n, 7n);
    const { head } = await store.historyBounds(0);
    expect(await revision.caughtUp()).toMatchObject({ revision: head });
    expect(head).toBe(3n);
    expect(heard.at(-1)).toBe("3: all");
  });

  it.each([
    [true, true],
    [true, false],
    [false, true],
  ])("are one where it counts limits alone: %s, and then %s", async (one, two) => {
    const { stores } = await openStores(2);
    const [present, other] = stores as [PostgresStore, PostgresStore];
    const registration = await present.registerServer(optionsOf({ countsAlone: one }));
    await expect(other.registerServer(optionsOf({ countsAlone: two }))).rejects.toThrow(
      `server ${registration.id} uses it already, and limits that are counted in memory take one server`,
    );
    await registration.release();
    await (await other.registerServer(optionsOf({ countsAlone: two }))).release();
  });

  it("follow one that was killed within 12 s, and it knows of that if it comes back", async () => {
    const { database, stores } = await openStores(2);
    const [killed, successor] = stores as [PostgresStore, PostgresStore];
    const replaced = Promise.withResolvers<void>();
    const registration = await killed.registerServer(optionsOf({ replaced: replaced.resolve }));
    onTestFinished(() => registration.release());
    // Its signs of life come under an id that nobody has any more: so the row is as that of a killed server.
    await runSql(database.url, "UPDATE servers SET last_seen_at = clock_timestamp(), id = 'killed'");
    const startedAt = performance.now();
    const next = await successor.registerServer(optionsOf());
    expect(performance.now() - startedAt).toBeLessThan(12_000);
    await replaced.promise;
    await next.release();
  });

  it("follow killed ones within 12 s although the database's clock has been set back since", async () => {
    const { database, stores } = await openStores(1);
    const [successor] = stores as [PostgresStore];
    await runSql(
      database.url,
      `INSERT INTO servers SELECT name, '1.2.3', true, now(), now() + interval '1 hour'
       FROM unnest('{one,two}'::text[]) AS killed (name)`,
    );
    const startedAt = performance.now();
    const next = await successor.registerServer(optionsOf());
    expect(performance.now() - startedAt).toBeLessThan(12_000);
    expect((await successor.listServers()).map(({ id }) => id)).toEqual([next.id]);
    await next.release();
  });

  it("that share what they count go on after a silence in which they were forgotten, and are listed again", async () => {
    const { database, stores } = await openStores(1);
    const [store] = stores as [PostgresStore];
    const replaced = vi.fn<() => void>();
    const registration = await store.registerServer(optionsOf({ countsAlone: false, replaced }));
    await runSql(database.url, "DELETE FROM servers");
    const idsOfServers = async () => (await store.listServers()).map(({ id }) => id);
    await expect.poll(idsOfServers, { timeout: 5_000 }).toEqual([registration.id]);
    expect(replaced).not.toHaveBeenCalled();
    await registration.release();
  });

  it("that share what they count end after such a silence if one that counts alone has taken their place", async () => {
    const { database, stores } = await openStores(1);
    const [store] = stores as [PostgresStore];
    const replaced = Promise.withResolvers<void>();
    const registration = await store.registerServer(optionsOf({ countsAlone: false, replaced: replaced.resolve }));
    onTestFinished(() => registration.release());
    await runSql(
      database.url,
      "DELETE FROM servers; INSERT INTO servers VALUES ('alone', '1.2.3', true, now(), now())",
    );
    await replaced.promise;
    expect((await store.listServers()).map(({ id }) => id)).toEqual(["alone"]);
  });

  it("are refused because of one that lives, even if they have waited for another one that ended", async () => {
    const { database, stores } = await openStores(2);
    const [living, other] = stores as [PostgresStore, PostgresStore];
    const registration = await living.registerServer(optionsOf({ countsAlone: false }));
    onTestFinished(() => registration.release());
    await runSql(
      database.url,
      "INSERT INTO servers VALUES ('ending', '1.2.3', true, now(), clock_timestamp() + interval '2 seconds')",
    );
    const registering = other.registerServer(optionsOf());
    const refused = expect(registering).rejects.toThrow(`server ${registration.id} uses it already`);
    await setTimeout(700);
    await runSql(database.url, "DELETE FROM servers WHERE id = 'ending'");
    await refused;
  });

  it("are listed for a while when they were killed, with their last sign of life", async () => {
    const { database, stores } = await openStores(1);
    const [store] = stores as [PostgresStore];
    await runSql(
      database.url,
      "INSERT INTO servers VALUES ('killed', '1.2.3', true, now() - interval '2 minutes', now() - interval '1 minute')",
    );
    const [killed] = await store.listServers();
    expect(killed).toMatchObject({ id: "killed", version: "1.2.3" });
    expect((killed?.lastSeenAtMs ?? 0) - (killed?.startedAtMs ?? 0)).toBe(60_000);
  });

  it("leave nothing in the database once they were killed and forgotten, and no change is told twice for that", async () => {
    const { database, stores } = await openStores(2);
    const [watching, next] = stores as [PostgresStore, PostgresStore];
    const shared = optionsOf({ countsAlone: false });
    const registration = await watching.registerServer(shared);
    await watching.createKey(createKey({ id: "key_a" }), hashOf("a"));
    await runSql(
      database.url,
      `INSERT INTO servers VALUES ('lately', '1.2.3', false, now() - interval '2 hours', now() - interval '1 minute'),
         ('forgotten', '1.2.3', false, now() - interval '2 hours', now() - interval '61 minutes')`,
      `INSERT INTO change_counts VALUES ('', 'stock', 1), ('lately', 'stock', 2), ('forgotten', 'stock', 3),
         ('forgotten', 'keys', 4), ('command', 'stock', 5)`,
    );
    const tokens = await watching.changeTokens();
    const second = await next.registerServer(shared);
    expect(await watching.changeTokens()).toEqual(tokens);
    const [kept] = await runSql(database.url, "SELECT writer, topic, count FROM change_counts ORDER BY writer, topic");
    expect(kept?.rows).toEqual([
      { writer: "", topic: "keys", count: "4" },
      { writer: "", topic: "stock", count: "9" },
      ...[
        { writer: "lately", topic: "stock", count: "2" },
        { writer: registration.id, topic: "keys", count: "1" },
      ].sort((a, b) => (a.writer < b.writer ? -1 : 1)),
    ]);
    await registration.release();
    await second.release();
  });

  it("hear of one another's changes at once, and of their own not", async () => {
    const { stores } = await openStores(2);
    const [one, two] = stores as [PostgresStore, PostgresStore];
    const heard = new Set<string>();
    one.onOthersChange(() => heard.add("one"));
    two.onOthersChange(() => heard.add("two"));
    const hearersOf = async (write: () => Promise<unknown>) => {
      // Until what was asked for again has been heard, too.
      await setTimeout(3 * notifyIntervalMs);
      heard.clear();
      await write();
      await setTimeout(3 * notifyIntervalMs);
      return [...heard].sort();
    };
    await expect.poll(() => heard.size).toBe(2);
    expect(await hearersOf(() => one.createKey(createKey({ id: "key_a" }), hashOf("a")))).toEqual(["two"]);
    const pets = [createPet({ id: 1n })];
    expect(await hearersOf(() => one.importAll({ pets }, 0))).toEqual(["one", "two"]);
    expect(await hearersOf(() => setStock(two, 1n, 1n))).toEqual(["one"]);
  });

  it("hear of the last of many changes soon, although not each of them is told", async () => {
    const { stores } = await openStores(2);
    const [writing, hearing] = stores as [PostgresStore, PostgresStore];
    await writing.importAll({ pets: [createPet({ id: 1n })] }, 0);
    const { stock } = await hearing.changeTokens();
    let known: Promise<number> | undefined;
    hearing.onOthersChange(() => {
      known = hearing.changeTokens().then((tokens) => tokens.stock);
    });
    await expect.poll(() => known).toBe(stock);
    for (let quantity = 1n; quantity <= 40n; quantity++) {
      await setStock(writing, 1n, quantity);
    }
    await expect.poll(() => known, { timeout: 8 * notifyIntervalMs, interval: 5 }).toBe(stock + 40);
  });

  it.each([1, 2])(
    "hear soon of a group that waits for the head's lock right after one that was told: %s changes",
    async (count) => {
      const { database, stores } = await openStores(2);
      const [writing, hearing] = stores as [PostgresStore, PostgresStore];
      const locking = await Connection.open(parseDatabaseUrl(database.url));
      onTestFinished(() => locking.close());
      await writing.importAll({ pets: [createPet({ id: 1n })] }, 0);
      await setStock(writing, 1n, 1n);
      const { stock } = await hearing.changeTokens();
      let known: Promise<number> | undefined;
      hearing.onOthersChange(() => {
        known = hearing.changeTokens().then((tokens) => tokens.stock);
      });
      await expect.poll(() => known).toBe(stock);
      await setTimeout(3 * notifyIntervalMs);
      await setStock(writing, 1n, 2n);
      await locking.script("BEGIN; SELECT FROM head FOR UPDATE");
      // Several changes of one pet take two round trips.
      const changes = Array.from({ length: count }, () => setStock(writing, 1n, 3n));
      await setTimeout(4 * notifyIntervalMs);
      await locking.script("ROLLBACK");
      await Promise.all(changes);
      await expect.poll(() => known, { timeout: 8 * notifyIntervalMs, interval: 5 }).toBe(stock + 1 + count);
    },
  );

  it("share the webhooks: each is claimed by one, and by another when that one leaves", async () => {
    const { stores } = await openStores(2);
    const [one, two] = stores as [PostgresStore, PostgresStore];
    await one.createWebhook(createWebhook({ id: "whk_a" }));
    expect(idsOf(await one.claimWebhooks())).toEqual(["whk_a"]);
    await one.createWebhook(createWebhook({ id: "whk_b" }));
    expect(idsOf(await two.claimWebhooks())).toEqual(["whk_b"]);
    expect(idsOf(await one.claimWebhooks())).toEqual(["whk_a"]);
    await one.releaseWebhooks();
    expect(idsOf(await two.claimWebhooks())).toEqual(["whk_a", "whk_b"]);
    expect(await one.claimWebhooks()).toEqual([]);
  });

  it("take over the webhooks of one that is silent within 10 s, which then notes nothing any more", async () => {
    const { stores } = await openStores(2);
    const [silent, other] = stores as [PostgresStore, PostgresStore];
    await silent.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(0n) }));
    await silent.claimWebhooks();
    expect(await silent.saveProgress("whk_a", { from: newProgress(0n), to: newProgress(1n) })).toBe(true);
    await expect.poll(async () => idsOf(await other.claimWebhooks()), { timeout: 10_000 }).toEqual(["whk_a"]);
    expect(await other.saveProgress("whk_a", { from: newProgress(1n), to: newProgress(5n) })).toBe(true);
    expect(await silent.saveProgress("whk_a", { from: newProgress(5n), to: newProgress(2n) })).toBe(false);
    expect(await silent.pauseWebhook("whk_a", "failures", 7, newProgress(5n))).toMatchObject({ paused: undefined });
    expect((await other.getWebhook("whk_a"))?.progress).toEqual(newProgress(5n));
  });

  it("take over the webhooks of a killed one within 10 s, and those of no living one, if the clock was set back", async () => {
    const { database, stores } = await openStores(2);
    const [living, other] = stores as [PostgresStore, PostgresStore];
    await living.createWebhook(createWebhook({ id: "whk_a" }));
    await living.createWebhook(createWebhook({ id: "whk_b" }));
    await living.claimWebhooks();
    await runSql(
      database.url,
      "UPDATE webhooks SET claimed_until = claimed_until + interval '1 hour'",
      "UPDATE webhooks SET claimed_by = 'killed' WHERE id = 'whk_b'",
    );
    const renewClaims = async () => {
      const [ofOther, ofLiving] = [await other.claimWebhooks(), await living.claimWebhooks()];
      expect(idsOf(ofLiving)).toContain("whk_a");
      return idsOf([...ofLiving, ...ofOther]);
    };
    await expect.poll(renewClaims, { timeout: 10_000 }).toEqual(["whk_a", "whk_b"]);
  });

  it("follow the history although slow reads of users keep all of their connections busy", async () => {
    const { stores, database } = await openStores(1);
    const [store] = stores as [PostgresStore];
    await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
    const other = await Connection.open(parseDatabaseUrl(database.url));
    onTestFinished(() => other.close());
    await other.script("BEGIN; LOCK TABLE stock IN ACCESS EXCLUSIVE MODE");
    const slow = Promise.allSettled(Array.from({ length: 20 }, () => store.getEntry(1n)));
    const follow = async () => {
      const { head } = await store.followed.historyBounds(0);
      const query = { after: 0n, petIds: [], newestFirst: false, limit: 10 };
      return [head, (await store.followed.listChanges(query)).changes.length];
    };
    expect(await Promise.race([follow(), setTimeout(3_000, "it waits")])).toEqual([1n, 1]);
    await other.script("COMMIT");
    await slow;
  });

  it("write together without a gap in the history, and none waits for another in a circle", async () => {
    const { stores } = await openStores(4);
    const petIds = [1n, 2n, 3n, 4n, 5n];
    await (stores[0] as PostgresStore).importAll({ pets: petIds.map((id) => createPet({ id })) }, 0);
    const writes = stores.flatMap((store, index) =>
      Array.from({ length: 60 }, (_, n) => {
        const order = index % 2 === 0 ? petIds : petIds.toReversed();
        const commands = order.map((petId) => ({ kind: "adjust", petId, delta: 1n, allowNegative: false }) as const);
        const context = { nowMs: n, keyId: "key_a", requestId: `${index}` };
        return store.changeStockInBatch(commands, true, context);
      }),
    );
    await Promise.all(writes);
    const query = { after: 0n, petIds: [], newestFirst: false, limit: 10_000 };
    const { changes } = await (stores[1] as PostgresStore).listChanges(query);
    expect(changes.map(({ revision }) => revision)).toEqual(Array.from({ length: 1_205 }, (_, n) => BigInt(n + 1)));
    for (const petId of petIds) {
      expect((await (stores[2] as PostgresStore).getEntry(petId)).quantity).toBe(240n);
    }
  });

  it("write single changes together without a gap, each in turn or many at once, while another ends holds", async () => {
    const { stores } = await openStores(3);
    const petIds = [1n, 2n, 3n];
    const [one, two, three] = stores as [PostgresStore, PostgresStore, PostgresStore];
    await one.importAll({ pets: petIds.map((id) => createPet({ id })) }, 0);
    async function writeInBursts(store: PostgresStore, name: string): Promise<void> {
      for (let burst = 0; burst < 40; burst += 1) {
        await Promise.all(
          petIds.map((petId) => {
            const command = { kind: "adjust", petId, delta: 1n, allowNegative: false } as const;
            return store.changeStock(command, { nowMs: burst, keyId: "key_a", requestId: name });
          }),
        );
      }
    }
    async function endHolds(): Promise<void> {
      for (let count = 0; count < 40; count += 1) {
        const context = { nowMs: 0, keyId: "key_a", requestId: "holds" };
        const holdId = `hold_${count}`;
        await three.changeStock({ kind: "adjust", petId: 1n, delta: 1n, allowNegative: false }, context);
        await three.createHold({ holdId, petId: 1n, quantity: 1n, ttlMs: 60_000, reference: undefined }, context);
        await three.releaseHold({ holdId }, context);
      }
    }
    await Promise.all([writeInBursts(one, "one"), writeInBursts(two, "two"), endHolds()]);
    const { changes } = await one.listChanges({ after: 3n, petIds: [], newestFirst: false, limit: 10_000 });
    expect(changes.map(({ revision }) => revision)).toEqual(Array.from({ length: 280 }, (_, n) => BigInt(n + 4)));
    for (const petId of petIds) {
      const ofPet = changes.filter((change) => change.petId === petId);
      const count = petId === 1n ? 120n : 80n;
      expect(ofPet.map(({ before }) => before)).toEqual([0n, ...ofPet.slice(0, -1).map(({ after }) => after)]);
      expect(await two.getAvailability(petId, 0)).toMatchObject({ quantity: count, held: 0n, available: count });
    }
  });
});

it("takes no heartbeat that is under way at the end for a sign that another server has taken its place", async () => {
  const heartbeat = Promise.withResolvers<void>();
  const asked: string[] = [];
  // A database that deals with a heartbeat late.
  const pool = {
    transaction: async () => [],
    async query(sql: string) {
      const [verb = ""] = sql.split(" ");
      asked.push(verb);
      if (verb === "UPDATE") {
        await heartbeat.promise;
        return asked.includes("DELETE") ? [] : [{ shown_us: BigInt(Date.now() * 1_000) }];
      }
      return [];
    },
  };
  const replaced = vi.fn();
  const registration = await registerServer(
    pool as unknown as Pool,
    { id: "one", shown: "postgres://db.example/petstore" },
    optionsOf({ replaced }),
  );
  await expect.poll(() => asked, { timeout: 10_000 }).toEqual(["UPDATE"]);
  const released = registration.release();
  heartbeat.resolve();
  await released;
  await setImmediate();
  expect(asked).toEqual(["UPDATE", "DELETE"]);
  expect(replaced).not.toHaveBeenCalled();
});
