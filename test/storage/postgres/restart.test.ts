import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../../src/storage/postgres/connection/connection.ts";
import { parseDatabaseUrl } from "../../../src/storage/postgres/connection/database-url.ts";
import { listServersAt } from "../../../src/storage/postgres/servers.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { type Cluster, startCluster } from "../../support/postgres/cluster.ts";
import { clusterPort, runSql, urlOf } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { DatabaseProxy } from "../../support/postgres/proxy.ts";
import { createKey, createPet, hashOf, setStock } from "../samples.ts";

describe.skipIf(postgresPrograms === undefined)("a PostgreSQL server of its own", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ tls: true });
  });

  afterAll(() => cluster?.remove());

  async function createDatabase(name: string): Promise<string> {
    await runSql(urlOf(cluster.port, "postgres"), `CREATE DATABASE ${name}`);
    return urlOf(cluster.port, name);
  }

  it("that crashes under load loses no acknowledged update, and is used again within 5 s", async () => {
    const store = await openPostgresStore(await createDatabase("crashed"));
    onTestFinished(() => store.close());
    await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
    const acknowledged: bigint[] = [];
    const failures: unknown[] = [];
    let isOver = false;
    const writing = Array.from({ length: 8 }, async (_, client) => {
      for (let n = 0; !isOver; n += 1) {
        const quantity = BigInt(client * 1_000_000 + n);
        await setStock(store, 1n, quantity).then(
          () => acknowledged.push(quantity),
          (error: unknown) => failures.push(error),
        );
      }
    });
    await expect.poll(() => acknowledged.length).toBeGreaterThan(100);
    await cluster.crash();
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length, { timeout: 5_000 }).toBeGreaterThan(before);
    isOver = true;
    await Promise.all(writing);
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: "UNAVAILABLE" });
    }
    await store.ready();
    const written = new Set<bigint>();
    for (let after = 1n; ; ) {
      const { changes } = await store.listChanges({ after, petIds: [], newestFirst: false, limit: 10_000 });
      expect(changes.every(({ revision }, n) => revision === after + BigInt(n + 1))).toBe(true);
      for (const change of changes) {
        written.add(change.after);
      }
      after = changes.at(-1)?.revision ?? after;
      if (changes.length === 0) {
        break;
      }
    }
    expect(acknowledged.filter((quantity) => !written.has(quantity))).toEqual([]);
  });

  it("whose address leads to its replica for a while is not ready meanwhile, and is used again within 5 s", async () => {
    const url = new URL(await createDatabase("replicated"));
    const replica = await startCluster({ primaryPort: cluster.port });
    onTestFinished(() => replica.remove());
    const proxy = await DatabaseProxy.start(cluster.port);
    onTestFinished(() => proxy.close());
    url.port = String(proxy.port);
    const store = await openPostgresStore(url.href);
    onTestFinished(() => store.close());
    await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
    await setStock(store, 1n, 5n);
    proxy.targetPort = replica.port;
    proxy.cut();
    const refusal = { code: "UNAVAILABLE", cause: { message: "it is a replica, which takes no writes" } };
    for (const attempt of [() => store.ready(), () => store.getEntry(1n), () => setStock(store, 1n, 6n)]) {
      await expect.poll(() => attempt().catch((error: unknown) => error)).toMatchObject(refusal);
    }
    await expect(openPostgresStore(url.href)).rejects.toThrow("is a replica, which takes no writes; name the primary");
    await expect.poll(() => listServersAt(url.href).catch((error: unknown) => error)).toEqual([]);
    proxy.targetPort = cluster.port;
    await expect.poll(() => setStock(store, 1n, 7n).catch(() => undefined), { timeout: 5_000 }).toBeDefined();
    await store.ready();
  });

  it("that is a replica, and speaks TLS, is refused without a try in plain text", async () => {
    const replica = await startCluster({ primaryPort: cluster.port, tls: true });
    onTestFinished(() => replica.remove());
    const proxy = await DatabaseProxy.start(replica.port);
    onTestFinished(() => proxy.close());
    let plainLogins = 0;
    proxy.decide = (bytes) => {
      // Source: https://www.postgresql.org/docs/15/protocol-message-formats.html, StartupMessage
      plainLogins += bytes.length >= 8 && bytes.readInt32BE(4) === 196_608 ? 1 : 0;
      return "pass";
    };
    const address = parseDatabaseUrl(urlOf(proxy.port, "postgres", "?sslmode=prefer"));
    await expect(Connection.open(address)).rejects.toThrow("it is a replica, which takes no writes");
    expect(plainLogins).toBe(0);
  });

  it("whose database takes no writes for a while is used again within 5 s", async () => {
    const url = await createDatabase("read_only");
    const store = await openPostgresStore(url);
    onTestFinished(() => store.close());
    await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
    await setStock(store, 1n, 5n);
    const createKeyOf = (id: string) => store.createKey(createKey({ id }), hashOf(id));
    await runSql(
      url,
      "ALTER DATABASE read_only SET default_transaction_read_only = on",
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'read_only' AND pid <> pg_backend_pid()",
    );
    const refusal = { code: "UNAVAILABLE", cause: { code: "25006" } };
    for (const attempt of [() => setStock(store, 1n, 6n), () => createKeyOf("key_a")]) {
      await expect.poll(() => attempt().catch((error: unknown) => error)).toMatchObject(refusal);
    }
    await runSql(url, "SET default_transaction_read_only = off", "ALTER DATABASE read_only RESET ALL");
    for (const attempt of [() => setStock(store, 1n, 7n), () => createKeyOf("key_b")]) {
      await expect.poll(() => attempt().catch(() => undefined), { timeout: 5_000 }).toBeDefined();
    }
  });

  it("that has synchronous_commit=off set while it runs does not take it to connections that are open", async () => {
    const url = urlOf(cluster.port, "postgres");
    const open = await Connection.open(parseDatabaseUrl(url));
    onTestFinished(() => open.close());
    onTestFinished(async () => {
      await runSql(url, "ALTER SYSTEM RESET synchronous_commit", "SELECT pg_reload_conf()");
    });
    await runSql(url, "ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()");
    const configured = "SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'";
    await expect.poll(() => open.query(configured)).toEqual([{ reset_val: "off" }]);
    expect(await open.query("SHOW synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
  });

  it.each([
    ["127.0.0.1", "sslmode=disable", "is used"],
    ["127.0.0.1", "sslmode=prefer", "is used"],
    ["127.0.0.1", "sslmode=require", "is used"],
    ["127.0.0.1", "sslmode=verify-full&sslrootcert=FILE", "is used"],
    ["127.0.0.2", "sslmode=verify-ca&sslrootcert=FILE", "is used"],
    ["127.0.0.2", "sslmode=verify-full&sslrootcert=FILE", "is not used"],
    ["127.0.0.1", "sslmode=verify-full", "is not used"],
    ["127.0.0.1", "sslmode=verify-ca", "is not used"],
    ["127.0.0.1", "sslmode=verify-full&sslrootcert=/nowhere.pem", "is not used"],
  ])("at %s with %s %s", async (host, parameters, outcome) => {
    const name = `tls_${Math.random().toString(36).slice(2)}`;
    const url = new URL(await createDatabase(name));
    url.hostname = host;
    url.search = parameters.replace("FILE", encodeURIComponent(cluster.authorityFile ?? ""));
    const opening = openPostgresStore(url.href);
    if (outcome === "is used") {
      const store = await opening;
      await store.ready();
      await store.close();
    } else {
      await expect(opening).rejects.toThrow(/certificate|altnames|sslrootcert cannot be read/);
    }
  });

  it.each([
    ["prefer", true, true],
    ["prefer", false, false],
    ["disable", true, false],
  ])("is spoken to by sslmode=%s, where its TLS is %s, with TLS: %s", async (mode, speaksTls, isEncrypted) => {
    const port = speaksTls ? cluster.port : await clusterPort();
    const name = `tls_${Math.random().toString(36).slice(2)}`;
    const admin = urlOf(port, "postgres");
    await runSql(admin, `CREATE DATABASE ${name}`);
    onTestFinished(async () => {
      await runSql(admin, `DROP DATABASE ${name} WITH (FORCE)`);
    });
    const store = await openPostgresStore(urlOf(port, name, `?sslmode=${mode}&application_name=till%202`));
    onTestFinished(() => store.close());
    await store.ready();
    const [found] = await runSql(
      admin,
      `SELECT DISTINCT ssl, application_name FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '${name}'`,
    );
    expect(found?.rows).toEqual([{ ssl: isEncrypted, application_name: "till 2" }]);
  });
});
