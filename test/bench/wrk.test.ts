import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wrkLoad } from "../../bench/load/wrk.ts";
import { isInstalled } from "../support/installed.ts";

describe.runIf(isInstalled("wrk"))("the load by wrk", () => {
  const folder = mkdtempSync(join(tmpdir(), "petstore-wrk-"));
  const idsFile = join(folder, "ids");
  const quantities: number[][] = [[], []];
  const servers = quantities.map((received) =>
    createServer((request, response) => void receive(request, response, received)),
  );
  let ports: number[] = [];

  async function receive(request: IncomingMessage, response: ServerResponse, received: number[]): Promise<void> {
    received.push(((await json(request)) as { readonly quantity: number }).quantity);
    response.writeHead(200, { "content-length": 2 }).end("{}");
  }

  beforeAll(async () => {
    writeFileSync(idsFile, "11\n12\n13");
    for (const server of servers) {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    }
    ports = servers.map((server) => (server.address() as AddressInfo).port);
  });

  afterAll(() => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
    rmSync(folder, { recursive: true });
  });

  it("is divided among the servers of a store, and makes no update twice", async () => {
    const [port, ...furtherPorts] = ports;
    const order = { origin: `http://127.0.0.1:${port}`, furtherPorts, key: "secret", seconds: 1, idsFile };
    const result = await wrkLoad("patch", 4)({ ...order, firstQuantity: 1000 });

    expect(result.failures).toBe(0);
    expect(result.requests).toBeGreaterThan(0);
    const [first = [], second = []] = quantities;
    expect(first.length).toBeGreaterThan(0);
    expect(second.length).toBeGreaterThan(0);
    expect(new Set([...first, ...second]).size).toBe(first.length + second.length);
  });
});
