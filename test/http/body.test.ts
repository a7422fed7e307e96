import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { IncomingBody, readBody } from "../../src/http/body.ts";
import { CallRecord } from "../../src/http/exchange.ts";

it("the reader of a body that has ended asks for no more", async () => {
  const credits: number[] = [];
  const body = new IncomingBody({ credit: (bytes) => credits.push(bytes), abort() {} });
  body.push(Buffer.alloc(1_000), false);
  body.push(Buffer.alloc(1_000), false);
  body.end();
  // Its source may have gone on to another body, and would take a credit for that one's.
  const { stream } = body;
  stream.resume();
  while (!stream.readableEnded) {
    await setImmediate();
  }
  expect(credits).toEqual([]);
});

it("the reader of a body that goes on asks for as much as it has taken", async () => {
  const credits: number[] = [];
  const body = new IncomingBody({ credit: (bytes) => credits.push(bytes), abort() {} });
  const { stream } = body;
  body.push(Buffer.alloc(10), false);
  body.push(Buffer.alloc(100_000), false);
  expect(credits).toEqual([10]);
  stream.resume();
  await setImmediate();
  expect(credits).toEqual([10, 100_000]);
});

it.each([
  [12, true],
  [13, false],
])("a body of at most 10 bytes and 2 of framing may come in pieces that have %i bytes: %s", async (size, isTaken) => {
  const limits = { maxBytes: 10, framingBytes: 2, timeoutMs: 60_000, deadline: undefined, record: new CallRecord() };
  const reading = readBody(Readable.from([Buffer.alloc(5), Buffer.alloc(size - 5)]), limits);
  await (isTaken
    ? expect(reading).resolves.toHaveLength(size)
    : expect(reading).rejects.toMatchObject({ kind: "body_too_large" }));
});
