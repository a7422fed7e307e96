import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Attack, attack, repeatFor } from "../support/attack.ts";
import { Bystander, expectServed } from "../support/bystander.ts";
import { endHeaders, endStream, frame, headerBlock, openingWith, requestFrame } from "../support/http2-frames.ts";
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

/** Many times what each limit allows. */
const count = 100_000;

/** An opening, and so many frames in pieces of a hundred. */
function* flood(makeFrame: (index: number) => Buffer, ...first: Buffer[]): Generator<Buffer> {
  yield openingWith(...first);
  for (let made = 0; made < count; made += 100) {
    yield Buffer.concat(Array.from({ length: 100 }, (_, index) => makeFrame(made + index)));
  }
}

/** The id of a client's nth stream. */
const streamId = (index: number) => 2 * index + 1;
const list = { ":path": "/v1/inventory" };
const upload = headerBlock({ ":method": "PATCH", ":scheme": "http", ":authority": "x", ":path": "/v1/inventory/7" });
const check = headerBlock({
  ":method": "POST",
  ":scheme": "http",
  ":authority": "x",
  ":path": "/grpc.health.v1.Health/Check",
  "content-type": "application/json",
});
/** Headers that go on in the frames that follow. */
const unended = frame("headers", { flags: endStream, stream: 1, payload: upload });
const cancel = Buffer.of(0, 0, 0, 8);
const noWindow = Buffer.alloc(4);
const large = frame("continuation", { stream: 1, payload: headerBlock({ x: "a".repeat(16_000) }) });

/** A request, and a frame by which it ends at once. */
function spoilt(index: number, type: "reset" | "windowUpdate", payload: Buffer): Buffer {
  const stream = streamId(index);
  return Buffer.concat([requestFrame(list, stream), frame(type, { stream, payload })]);
}

const ping = () => frame("ping", { payload: Buffer.alloc(8) });
const settings = () => frame("settings");
const resets = "256 resets at once and 33 a second, of nghttp2";
const answers = "1,000 answers that wait to be sent, of nghttp2";
const oddities = "10,000 oddities at once and 330 a second, of nghttp2";
const streams = "128 streams at a time, and 100 refused ones, of Node";

const floods: readonly [title: string, limit: string, pieces: () => Iterable<Buffer>][] = [
  ["rapid reset (CVE-2023-44487)", resets, () => flood((index) => spoilt(index, "reset", cancel))],
  [
    "what has the server reset (CVE-2025-8671)",
    resets,
    () => flood((index) => spoilt(index, "windowUpdate", noWindow)),
  ],
  ["large CONTINUATION (CVE-2024-27983)", "64 KiB of headers, of nghttp2", () => flood(() => large, unended)],
  ["small CONTINUATION", "8 frames of headers, of nghttp2", () => flood(() => continuation({ x: "y" }), unended)],
  ["empty CONTINUATION", "8 frames of headers, of nghttp2", () => flood(() => continuation({}), unended)],
  ["PING", answers, () => flood(ping)],
  ["SETTINGS", answers, () => flood(settings)],
  ["DATA without bytes", oddities, () => flood(() => frame("data", { stream: 1 }), opened(0, check))],
  ["PRIORITY", oddities, () => flood(() => frame("priority", { stream: 3, payload: Buffer.of(0, 0, 0, 1, 16) }))],
  ["frames of no known type", oddities, () => flood(() => frame("unknown", { payload: Buffer.alloc(8) }))],
  ["streams that are left open", streams, () => flood((index) => opened(index, upload))],
  ["requests that wait for no answer", streams, () => flood((index) => requestFrame(list, streamId(index)))],
  [
    "window beyond 2 GiB",
    "RFC 9113, 6.9.1",
    () => flood(() => frame("windowUpdate", { payload: Buffer.alloc(4, 0x7f) })),
  ],
];

function opened(index: number, payload: Buffer): Buffer {
  return frame("headers", { flags: endHeaders, stream: streamId(index), payload });
}

function continuation(headers: Record<string, string>): Buffer {
  return frame("continuation", { stream: 1, payload: headerBlock(headers) });
}

describe("a flood of", () => {
  it.each(floods)("%s ends at %s, and others are served", async (title, _limit, pieces) => {
    const before = memoryBytes(server.pid);
    const attacks: Attack[] = [];
    const seen = await bystander.watch(() =>
      repeatFor(amount(200, 5_000), 4, async () => {
        // Every other attacker leaves its answers unread.
        attacks.push(await attack(server, pieces(), { reads: attacks.length % 2 === 0 }));
      }),
    );
    expect(
      attacks.every(({ isClosed }) => isClosed),
      "the server has closed each connection",
    ).toBe(true);
    const grownMebibytes = (memoryBytes(server.pid) - before) / mebibyte;
    report(title, { connections: attacks.length, seen, grownMebibytes });
    expectServed(seen);
    expect(grownMebibytes).toBeLessThan(250);
  });
});
