import { execFileSync } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { amount } from "../support/long.ts";
import { memoryBytes } from "../support/process-usage.ts";
import { openSocket } from "../support/raw.ts";
import { report } from "../support/report.ts";
import { startServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";
import { repeatFor } from "./attack.ts";
import { mebibyte, useAttackedServer } from "./attacked-server.ts";
import { expectServed } from "./bystander.ts";
import { frame, openingWith, preface } from "./http2-frames.ts";

/** How long a request may take to arrive. */
const timeoutMs = 1_000;

/**
 * How soon connections are to be closed: the server takes three times the timeout at worst, for head, body and look.
 */
const closedWithinMs = amount(6, 4) * timeoutMs;

const attacked = useAttackedServer(() => startServer("--request-timeout", `${timeoutMs / 1_000}s`));

/** Opens so many connections, a hundred at a time, each with these first bytes. */
async function openMany(count: number, first: string | Buffer): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const row = Array.from({ length: Math.min(100, count - sockets.length) }, () => openSocket(attacked.server));
    await Promise.all(row.map((socket) => once(socket.on("error", () => {}).resume(), "connect")));
    for (const socket of row) {
      socket.write(first);
    }
    sockets.push(...row);
  }
  return sockets;
}

/** Writes a byte to each connection now and then, until the server has closed all of them. */
async function drip(sockets: readonly Socket[], byte: string): Promise<void> {
  let polls = 0;
  await until(async () => {
    // To all of them, some four times a second.
    const turn = polls++ % 10;
    for (let index = turn; index < sockets.length; index += 10) {
      sockets[index]?.write(byte);
    }
    return sockets.every(({ destroyed }) => destroyed);
  }, 8 * timeoutMs);
}

describe("connections that are slow", () => {
  const update = "PATCH /v1/inventory/7 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
  const count = amount(50, 500);

  it.each<[title: string, first: () => string | Buffer, byte: string]>([
    ["that say nothing", () => "", ""],
    ["that say one byte", () => "G", ""],
    ["that say half a preface", () => preface.subarray(0, 2), ""],
    ["with half a head", () => "GET /v1/inventory HTTP/1.1\r\nHost: x\r\n", ""],
    ["with a header of a byte at a time", () => "GET /v1/inventory HTTP/1.1\r\nHost: x\r\nX: ", "a"],
    ["with a target of a byte at a time", () => "GET /", "a"],
    ["with half a body", () => `${update}Authorization: Bearer ${attacked.key}\r\nContent-Length: 900\r\n\r\n{`, ""],
    [
      "with a body of a byte at a time",
      () => `${update}Authorization: Bearer ${attacked.key}\r\nContent-Length: 9000\r\n\r\n`,
      " ",
    ],
    ["with a stranger's body of a byte at a time", () => `${update}Content-Length: 9000\r\n\r\n`, " "],
  ])(
    "%s are closed within the time that --request-timeout gives, and others are served",
    async (title, first, byte) => {
      let ms = 0;
      const { seen } = await attacked.withstand(async () => {
        const sockets = await openMany(count, first());
        const start = performance.now();
        await drip(sockets, byte);
        ms = performance.now() - start;
      });
      expectServed(seen);
      expect(ms).toBeLessThan(closedWithinMs);
      report(title, { count, closedAfterMs: Math.round(ms), seen });
    },
  );
});

/** How many files a process may open here. */
const maxFiles = Number(execFileSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" })) || Infinity;

describe("connections that are idle", () => {
  const count = amount(500, 10_000);
  const hasFiles = maxFiles > count + 1_000;
  const hint = hasFiles ? "" : ` (skipped: \`ulimit -n ${count + 2_000}\` is needed)`;

  it.skipIf(!hasFiles)(
    `are no load to others, and of little weight${hint}`,
    async () => {
      const { server, key } = attacked;
      const before = memoryBytes(server.pid);
      const request = "GET /v1/inventory HTTP/1.1\r\nHost: x\r\n\r\n";
      // They have been answered once, so that they may stay for as long as connections are kept alive.
      const answered = await openMany(count / 2, request);
      const silent = await openMany(count / 2, openingWith(frame("ping", { payload: Buffer.alloc(8) })));
      const takenBytes = memoryBytes(server.pid) - before;
      const { seen } = await attacked.withstand(() =>
        repeatFor(amount(200, 5_000), 1, () => expectUnharmed(server, key)),
      );
      const all = [...answered, ...silent];
      expect(all.filter(({ destroyed }) => destroyed)).toEqual([]);
      for (const socket of all) {
        socket.destroy();
      }
      await expectUnharmed(server, key);
      expectServed(seen);
      // Beside what each of them takes, the heap may have grown.
      expect(takenBytes).toBeLessThan(48 * mebibyte + count * 64 * 1024);
      const grownMebibytes = (memoryBytes(server.pid) - before) / mebibyte;
      report("idle connections", { count, bytesEach: Math.round(takenBytes / count), seen, grownMebibytes });
    },
    120_000,
  );
});
