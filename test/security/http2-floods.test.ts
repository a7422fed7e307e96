import { describe, expect, it } from "vitest";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import { startServerWith } from "../support/server.ts";
import { attack, repeatFor } from "./attack.ts";
import { smallHeap, useAttackedServer } from "./attacked-server.ts";
import { expectServed } from "./bystander.ts";
import { endHeaders, endStream, frame, headerBlock, openingWith, requestFrame } from "./http2-frames.ts";

const attacked = useAttackedServer(() => startServerWith(smallHeap));

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

/** Each ends at a limit that the server has: mostly it says nothing, and closes the connection. */
const floods: readonly [title: string, pieces: () => Iterable<Buffer>][] = [
  // 256 streams in a turn of the loop; 1,000 resets at once and 100 a second.
  ["rapid reset (CVE-2023-44487)", () => flood((index) => spoilt(index, "reset", cancel))],
  ["what has the server reset (CVE-2025-8671)", () => flood((index) => spoilt(index, "windowUpdate", noWindow))],
  // 64 KiB or 8 frames of headers.
  ["large CONTINUATION (CVE-2024-27983)", () => flood(() => large, unended)],
  ["small CONTINUATION", () => flood(() => continuation({ x: "y" }), unended)],
  ["empty CONTINUATION", () => flood(() => continuation({}), unended)],
  // 1,000 in a turn of the loop.
  ["PING", () => flood(ping)],
  ["SETTINGS", () => flood(settings)],
  // 10,000 frames that achieve nothing at once and 330 a second.
  ["DATA without bytes", () => flood(() => frame("data", { stream: 1 }), opened(0, check))],
  ["PRIORITY", () => flood(() => frame("priority", { stream: 3, payload: Buffer.of(0, 0, 0, 1, 16) }))],
  ["frames of no known type", () => flood(() => frame("unknown", { payload: Buffer.alloc(8) }))],
  // 128 streams at a time; a refused one counts as a reset.
  ["streams that are left open", () => flood((index) => opened(index, upload))],
  ["requests that wait for no answer", () => flood((index) => requestFrame(list, streamId(index)))],
  // RFC 9113, 6.9.1.
  ["window beyond 2 GiB", () => flood(() => frame("windowUpdate", { payload: Buffer.alloc(4, 0x7f) }))],
];

function opened(index: number, payload: Buffer): Buffer {
  return frame("headers", { flags: endHeaders, stream: streamId(index), payload });
}

function continuation(headers: Record<string, string>): Buffer {
  return frame("continuation", { stream: 1, payload: headerBlock(headers) });
}

describe("a flood of", () => {
  it.each(floods)("%s ends with the connection, and others are served", async (title, pieces) => {
    let connections = 0;
    let stayed = 0;
    const withstood = await attacked.withstand(() =>
      repeatFor(amount(200, 5_000), 4, async () => {
        connections += 1;
        // Every other attacker leaves its answers unread.
        const { isClosed } = await attack(attacked.server, pieces(), { reads: connections % 2 === 0 });
        stayed += isClosed ? 0 : 1;
      }),
    );
    expect(stayed, "the server has closed each connection").toBe(0);
    report(title, { connections, ...withstood });
    expectServed(withstood.seen);
    expect(withstood.grownMebibytes).toBeLessThan(250);
  });
});
