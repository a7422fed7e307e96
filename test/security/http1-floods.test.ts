import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { attack, repeatFor } from "../support/attack.ts";
import { Bystander, expectServed } from "../support/bystander.ts";
import { amount } from "../support/long.ts";
import { memoryBytes } from "../support/process-usage.ts";
import { report } from "../support/report.ts";
import { startServerWith, type TestServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";

const mebibyte = 1_048_576;

let server: TestServer;
let key: string;
let bystander: Bystander;

beforeAll(async () => {
  // With so small a heap, what were kept of each attack would soon end the process.
  server = await startServerWith({ NODE_OPTIONS: "--max-old-space-size=192" });
  ({ key } = await server.store.mintQuota(1_000_000, 10_000_000));
  bystander = await Bystander.start(server, key);
});

afterEach(() => expectUnharmed(server, key));

afterAll(async () => {
  await bystander?.stop();
  await server?.stop();
});

/** A beginning, and so many times a piece. */
function* flood(piece: string, count: number, first = ""): Generator<string> {
  yield first;
  const pieces = piece.repeat(100);
  for (let made = 0; made < count; made += 100) {
    yield pieces;
  }
}

const head = "GET /v1/inventory HTTP/1.1\r\nHost: x\r\n";
const upload = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
const chunked = "Transfer-Encoding: chunked\r\n\r\n";
const check = `${upload("/grpc.health.v1.Health/Check")}${chunked}`;
const list = () => `${upload("/petstore.v1.InventoryService/ListInventory")}Authorization: Bearer ${key}\r\n${chunked}`;
const update = () => list().replace("POST /petstore.v1.InventoryService/ListInventory", "PATCH /v1/inventory/7");

/** Attacks for a while, and returns what others have seen, and by how much the server has grown. */
async function withstand(title: string, pieces: () => Iterable<string>) {
  const before = memoryBytes(server.pid);
  let connections = 0;
  let stayed = 0;
  const seen = await bystander.watch(() =>
    repeatFor(amount(100, 5_000), amount(1, 2), async () => {
      connections += 1;
      stayed += (await attack(server, pieces(), { patienceMs: 20_000 })).isClosed ? 0 : 1;
    }),
  );
  expect(stayed, "the server has closed each connection").toBe(0);
  const grownMebibytes = (memoryBytes(server.pid) - before) / mebibyte;
  report(title, { connections, seen, grownMebibytes });
  return { seen, grownMebibytes };
}

describe("a flood of", () => {
  it.each<[title: string, limit: string, pieces: () => Iterable<string>]>([
    ["headers", "16 KiB of headers, of Node", () => flood("x: y\r\n", 100_000, head)],
    ["a header that does not end", "16 KiB of headers, of Node", () => flood("xxxx", 100_000, `${head}X: `)],
    ["a target that does not end", "16 KiB of headers, of Node", () => flood("/xxx", 100_000, "GET ")],
    ["trailers", "16 KiB of headers, of Node", () => flood("x: y\r\n", 100_000, `${check}0\r\n`)],
    ["an extension of a chunk", "16 KiB of extensions, of Node", () => flood("xxxx", 100_000, `${check}1;a=`)],
    ["what is no HTTP", "the first wrong byte", () => flood("\0", 100_000)],
  ])("%s ends at %s, and others are served", async (title, _limit, pieces) => {
    const { seen, grownMebibytes } = await withstand(title, pieces);
    expectServed(seen);
    expect(grownMebibytes).toBeLessThan(150);
  });

  // What one read of a connection holds, 64 KiB, is taken apart in one go: that takes some 12 ms here, and others wait.
  it.each<[title: string, limit: string, pieces: () => Iterable<string>]>([
    ["extensions of chunks", "16 KiB of extensions, of Node", () => flood("1;a=bcdef\r\n \r\n", 100_000, check)],
    [
      "bytes of a stranger's body",
      "1,024 pieces, and one for each 512 bytes",
      () => flood("1\r\n \r\n", 20_000_000, `${head}${chunked}`),
    ],
    ["bytes of a body for health", "4 KiB of a message", () => flood("1\r\n \r\n", 20_000_000, check)],
    ["bytes of an update", "1,024 pieces, and one for each 512 bytes", () => flood("1\r\n \r\n", 20_000_000, update())],
    ["bytes of an RPC", "1,024 pieces, and one for each 512 bytes", () => flood("1\r\n \r\n", 20_000_000, list())],
  ])("%s ends at %s, and others are answered", async (title, _limit, pieces) => {
    const { seen, grownMebibytes } = await withstand(title, pieces);
    expect(seen.failures).toEqual([]);
    expect(seen.maxMs).toBeLessThan(5_000);
    expect(grownMebibytes).toBeLessThan(500);
  });

  it("requests whose answers are not read waits for its reader, and others are served", {
    timeout: 90_000,
  }, async () => {
    const before = memoryBytes(server.pid);
    const request = `${head}Authorization: Bearer ${key}\r\n\r\n`;
    const count = amount(10_000, 100_000);
    const seen = await bystander.watch(() =>
      Promise.all(
        Array.from({ length: 4 }, () => attack(server, flood(request, count), { reads: false, patienceMs: 1_000 })),
      ),
    );
    const grownMebibytes = (memoryBytes(server.pid) - before) / mebibyte;
    report("requests whose answers are not read", { seen, grownMebibytes });
    expectServed(seen);
    expect(grownMebibytes).toBeLessThan(100);
  });
});
