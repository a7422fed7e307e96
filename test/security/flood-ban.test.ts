import { afterAll, beforeAll, expect, it } from "vitest";
import { repeatFor } from "../support/attack.ts";
import { Bystander, expectServed } from "../support/bystander.ts";
import { protocols } from "../support/clients/protocols.ts";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let bystander: Bystander;

beforeAll(async () => {
  server = await startServer();
  const { key } = await server.store.mintQuota(1_000_000, 10_000_000);
  bystander = await Bystander.start(server, key);
});

afterAll(async () => {
  await bystander?.stop();
  await server?.stop();
});

it("a key that goes on while it is banned keeps no other waiting", async () => {
  const { key } = await server.store.mintQuota(20, 1_000);
  const names = ["REST, HTTP/1.1", "REST, HTTP/2", "Connect JSON, HTTP/1.1", "gRPC"];
  const clients = protocols.filter(({ name }) => names.includes(name)).map((protocol) => protocol.open(server));
  const codes = new Map<string | undefined, number>();
  let turn = 0;
  const seen = await bystander.watch(() =>
    repeatFor(amount(1_000, 30_000), 8, async () => {
      const client = clients[turn++ % clients.length];
      const outcome = await client?.call("listInventory", {}, { key });
      const code = outcome?.failure?.code;
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }),
  );
  for (const client of clients) {
    client.close();
  }
  expect(codes.get(undefined)).toBe(20);
  expect(codes.get("API_KEY_BANNED")).toBeGreaterThan(amount(20, 1_000));
  report("a banned key", { ...Object.fromEntries(codes), seen });
  expectServed(seen);
}, 60_000);
