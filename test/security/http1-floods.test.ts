import { describe, expect, it } from "vitest";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import { startServerWith } from "../support/server.ts";
import { attack, repeatFor } from "./attack.ts";
import { smallHeap, useAttackedServer, type Withstood } from "./attacked-server.ts";
import { expectServed } from "./bystander.ts";

const attacked = useAttackedServer(() => startServerWith(smallHeap));

/** A beginning, and so many times a piece. */
function* flood(piece: string, count: number, first = ""): Generator<string | Buffer> {
  yield first;
  const pieces = Buffer.from(piece.repeat(10_000));
  for (let made = 0; made < count; made += 10_000) {
    yield pieces;
  }
}

const head = "GET /v1/inventory HTTP/1.1\r\nHost: x\r\n";
const upload = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
const chunked = "Transfer-Encoding: chunked\r\n\r\n";
const check = `${upload("/grpc.health.v1.Health/Check")}${chunked}`;
const list = () =>
  `${upload("/petstore.v1.InventoryService/ListInventory")}Authorization: Bearer ${attacked.key}\r\n${chunked}`;
const update = () => list().replace("POST /petstore.v1.InventoryService/ListInventory", "PATCH /v1/inventory/7");

interface Flooded extends Withstood {
  /** The statuses that attackers were answered, each once; a connection may end without any. */
  readonly statuses: readonly number[];
}

/** Attacks for a while. Expects that the server closes each connection. */
async function withstand(title: string, pieces: () => Iterable<string | Buffer>): Promise<Flooded> {
  const statuses = new Set<number>();
  let connections = 0;
  let stayed = 0;
  const withstood = await attacked.withstand(() =>
    repeatFor(amount(100, 5_000), amount(1, 2), async () => {
      const { isClosed, received } = await attack(attacked.server, pieces(), { patienceMs: 20_000 });
      connections += 1;
      stayed += isClosed ? 0 : 1;
      const status = /^HTTP\/1\.1 (\d+)/.exec(received.toString("latin1"))?.[1];
      if (status !== undefined) {
        statuses.add(Number(status));
      }
    }),
  );
  expect(stayed, "the server has closed each connection").toBe(0);
  const flooded = { ...withstood, statuses: [...statuses] };
  report(title, { connections, ...flooded });
  return flooded;
}

describe("a flood of", () => {
  // 431 tells of the 16 KiB for headers, and 400 of those for extensions of chunks, or of the first wrong byte.
  it.each<[title: string, status: number, pieces: () => Iterable<string | Buffer>]>([
    ["headers", 431, () => flood("x: y\r\n", 100_000, head)],
    ["a header that does not end", 431, () => flood("xxxx", 100_000, `${head}X: `)],
    ["a target that does not end", 431, () => flood("/xxx", 100_000, "GET ")],
    ["trailers", 431, () => flood("x: y\r\n", 100_000, `${check}0\r\n`)],
    ["an extension of a chunk", 400, () => flood("xxxx", 100_000, `${check}1;a=`)],
    ["what is no HTTP", 400, () => flood("\0", 100_000)],
  ])("%s ends with %i, and others are served", async (title, status, pieces) => {
    const { seen, grownMebibytes, statuses } = await withstand(title, pieces);
    // Past 300 a minute an address is refused with 429, whatever it sends.
    expect(statuses.length).toBeGreaterThan(0);
    expect([status, 429]).toEqual(expect.arrayContaining([...statuses]));
    expectServed(seen);
    expect(grownMebibytes).toBeLessThan(150);
  });

  it.each<[title: string, pieces: () => Iterable<string | Buffer>]>([
    // 16 KiB of extensions.
    ["extensions of chunks", () => flood("1;a=bcdef\r\n \r\n", 100_000, check)],
    // 4 KiB of a message.
    ["bytes of a body for health", () => flood("1\r\n \r\n", 20_000_000, check)],
    // Of these 1,024 pieces, and one for each 512 bytes.
    ["bytes of a stranger's body", () => flood("1\r\n \r\n", 20_000_000, `${head}${chunked}`)],
    ["bytes of an update", () => flood("1\r\n \r\n", 20_000_000, update())],
    ["bytes of an RPC", () => flood("1\r\n \r\n", 20_000_000, list())],
  ])("%s ends with the connection, and others are served", async (title, pieces) => {
    const { seen, grownMebibytes } = await withstand(title, pieces);
    expectServed(seen);
    expect(grownMebibytes).toBeLessThan(500);
  });

  it("requests whose answers are not read waits for its reader, and others are served", {
    timeout: 90_000,
  }, async () => {
    const request = `${head}Authorization: Bearer ${attacked.key}\r\n\r\n`;
    const count = amount(10_000, 100_000);
    const behaviour = { reads: false, patienceMs: 1_000 };
    const withstood = await attacked.withstand(() =>
      Promise.all(Array.from({ length: 4 }, () => attack(attacked.server, flood(request, count), behaviour))),
    );
    report("requests whose answers are not read", { ...withstood });
    expectServed(withstood.seen);
    expect(withstood.grownMebibytes).toBeLessThan(100);
  });
});
