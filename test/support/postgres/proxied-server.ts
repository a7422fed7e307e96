import { onTestFinished } from "vitest";
import { importFixture } from "../fixture.ts";
import { serve, TestStore } from "../server.ts";
import { clusterPort, reserveDatabase } from "./databases.ts";
import { DatabaseProxy } from "./proxy.ts";

/** Starts a server whose database can be made to fail. It ends with the test. */
export async function serveBehindProxy(...flags: readonly string[]) {
  const port = await clusterPort();
  const store = new TestStore(reserveDatabase(port));
  await store.prepare();
  await importFixture(store.db);
  const proxy = await DatabaseProxy.start(port);
  const database = new URL(store.db);
  database.port = String(proxy.port);
  const server = await serve(store, { flags: ["--database", database.href, ...flags] });
  onTestFinished(async () => {
    proxy.thaw();
    await server.end("SIGKILL");
    await proxy.close();
    store.remove();
  });
  return { server, proxy, store };
}
