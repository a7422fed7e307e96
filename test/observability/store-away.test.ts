import { expect, it, onTestFinished } from "vitest";
import { Metrics } from "../support/metrics.ts";
import { startPetstore } from "../support/petstore.ts";
import { clusterPort, createDatabase } from "../support/postgres/databases.ts";
import { postgresPrograms } from "../support/postgres/programs.ts";
import { DatabaseProxy } from "../support/postgres/proxy.ts";

it.skipIf(postgresPrograms === undefined)(
  "a server tells while its database is away",
  async () => {
    const database = await createDatabase();
    onTestFinished(() => database.remove());
    const proxy = await DatabaseProxy.start(await clusterPort());
    onTestFinished(() => proxy.close());
    const proxied = new URL(database.url);
    proxied.port = String(proxy.port);
    const server = startPetstore(["serve", "--port", "0", "--ops-port", "0", "--database", proxied.href]);
    onTestFinished(async () => void (await server.end("SIGKILL")));
    await server.nextLine();
    const opsOrigin = /http:\S+/.exec((await server.nextLine()) ?? "")?.[0] ?? "";
    const away = async () => new Metrics(await (await fetch(`${opsOrigin}/metrics`)).text()).sum("petstore_store_away");
    expect(await away()).toBe(0);
    proxy.freeze();
    await expect.poll(away, { timeout: 15_000 }).toBe(1);
    proxy.thaw();
    proxy.cut();
    await expect.poll(away, { timeout: 5_000 }).toBe(0);
  },
  60_000,
);
