import { expect, it } from "vitest";
import { protocols } from "../support/clients/protocols.ts";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import { startServer } from "../support/server.ts";
import { repeatFor } from "./attack.ts";
import { useAttackedServer } from "./attacked-server.ts";
import { expectServed } from "./bystander.ts";

const attacked = useAttackedServer(() => startServer());

/** How often the key is refused at least. */
const bans = amount(20, 1_000);

it("a key that goes on while it is banned keeps no other waiting", async () => {
  const { key } = await attacked.server.store.mintQuota(20, 1_000);
  const names = ["REST, HTTP/1.1", "REST, HTTP/2", "Connect JSON, HTTP/1.1", "gRPC"];
  const clients = protocols
    .filter(({ name }) => names.includes(name))
    .map((protocol) => protocol.open(attacked.server));
  const codes = new Map<string | undefined, number>();
  let turn = 0;
  const askOnce = async () => {
    const client = clients[turn++ % clients.length];
    const outcome = await client?.call("listInventory", {}, { key });
    const code = outcome?.failure?.code;
    codes.set(code, (codes.get(code) ?? 0) + 1);
  };
  const { seen } = await attacked.withstand(async () => {
    do {
      await repeatFor(amount(1_000, 30_000), 8, askOnce);
    } while ((codes.get("API_KEY_BANNED") ?? 0) <= bans);
  });
  for (const client of clients) {
    client.close();
  }
  expect(codes.get(undefined)).toBe(20);
  report("a banned key", { ...Object.fromEntries(codes), seen });
  expectServed(seen);
}, 60_000);
