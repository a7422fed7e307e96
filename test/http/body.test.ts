import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { IncomingBody } from "../../src/http/body.ts";

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
