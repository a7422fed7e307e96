import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { canHaveNodes } from "../support/left-out.ts";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import type { TestServer } from "../support/server.ts";
import { Nodes, promisedMs } from "./nodes.ts";

const kills = amount(3, 12);

interface Received {
  readonly id: string;
  readonly revisions: readonly number[];
}

const received: Received[] = [];
let underWay = 0;
let mostUnderWay = 0;

/** A receiver that is slow, so that two servers would be seen to deliver at once. */
const receiver = createServer((request, response) => {
  underWay += 1;
  mostUnderWay = Math.max(mostUnderWay, underWay);
  response.once("close", () => (underWay -= 1));
  let body = "";
  request.on("data", (chunk: Buffer) => (body += chunk.toString()));
  request.on("end", () => {
    const { changes } = JSON.parse(body).data;
    const revisions = changes.map(({ revision }: { revision: number }) => revision);
    received.push({ id: request.headers["webhook-id"] as string, revisions });
    setTimeout(() => response.writeHead(204).end(), 20);
  });
});

describe.runIf(canHaveNodes)("a webhook of three servers", () => {
  let nodes: Nodes;
  let key: string;

  beforeAll(async () => {
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    nodes = await Nodes.start({ flags: () => ["--allow-private"] });
    ({ key } = nodes);
  });

  afterAll(async () => {
    await nodes?.stop();
    receiver.close();
  });

  const newest = () => received.at(-1)?.revisions.at(-1) ?? 0;

  /** Makes a change at a server, and waits until it was delivered. Returns how long that took, in milliseconds. */
  async function changeAt(server: TestServer, quantity: number): Promise<number> {
    const madeAtMs = performance.now();
    expectSuccess(
      await server.call(rest, "updateInventory", { petId: 6n, update: { quantity: BigInt(quantity) } }, { key }),
    );
    const { changes } = expectSuccess(
      await server.call(rest, "listStockChanges", { newestFirst: true, pageSize: 1 }, { key }),
    );
    await until(async () => newest() >= Number(changes[0]?.revision), promisedMs(10_000));
    return performance.now() - madeAtMs;
  }

  it(`is delivered to by one at a time, and within 10 s by another where that one is killed, ${kills} times over`, {
    timeout: amount(90_000, 600_000),
  }, async () => {
    const { port } = receiver.address() as AddressInfo;
    await nodes.store.run("webhooks", "create", "--url", `http://127.0.0.1:${port}/`, "--from", "start");
    let longestMs = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const index = kill % nodes.servers.length;
      const other = nodes.servers[(index + 1) % nodes.servers.length] as TestServer;
      for (let quantity = 0; quantity < 10; quantity += 1) {
        await changeAt(nodes.servers[quantity % nodes.servers.length] as TestServer, quantity);
      }
      const restarted = nodes.restart(index, "SIGKILL");
      longestMs = Math.max(longestMs, await changeAt(other, kill));
      await restarted;
    }
    expect(longestMs).toBeLessThan(promisedMs(10_000));
    expect(mostUnderWay).toBe(1);
    const byId = Map.groupBy(received, ({ id }) => id);
    for (const again of byId.values()) {
      expect(new Set(again.map(({ revisions }) => revisions.join(" "))).size).toBe(1);
    }
    const inOrder = [...byId.values()].flatMap(([first]) => first?.revisions ?? []);
    expect(inOrder).toEqual(Array.from({ length: newest() }, (_, index) => index + 1));
    report("webhooks of killed servers", { kills, deliveries: received.length, longestMs: Math.round(longestMs) });
  });
});
