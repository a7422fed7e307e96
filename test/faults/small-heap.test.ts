import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Protocol, protocols } from "../support/clients/protocols.ts";
import { pets, toCsv } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { memoryBytes } from "../support/process-usage.ts";
import { report } from "../support/report.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

const count = amount(50_000, 300_000);

/** What the server's objects may take, in MB: less than the objects of such a list would. */
const heapMb = 64;

/** How many clients list at the same time. */
const clients = amount(2, 4);

/** A server with little memory for objects and a long list. */
describe(`a list of ${count} pets with ${heapMb} MB for objects`, () => {
  const store = new TestStore();
  let server: TestServer;
  let key: string;

  beforeAll(async () => {
    const file = join(store.directory, "many.csv");
    const rows = Array.from({ length: count }, (_, id) => ({ ...pets[1], id, quantity: id }));
    writeFileSync(file, toCsv(rows));
    await store.run("import", file);
    ({ key } = await store.mintQuota(1_000_000, 1_000_000));
    server = await serve(store, { env: { NODE_OPTIONS: `--max-old-space-size=${heapMb}` } });
  });

  afterAll(() => server?.stop());

  const list = async (protocol: Protocol) => {
    const { message, failure } = await server.call(protocol, "listInventory", {}, { key });
    return failure?.code ?? message?.items.length;
  };

  it.each(protocols)(
    "is answered whole over $name, and ends no server",
    { timeout: amount(30_000, 120_000) },
    async (protocol) => {
      const lists = Array.from({ length: clients }, () => list(protocol));
      expect(await Promise.all(lists)).toEqual(lists.map(() => count));
      report(`a list over ${protocol.name}`, { count, mostMb: Math.round(memoryBytes(server.pid, "VmHWM") / 1e6) });
    },
  );
});
