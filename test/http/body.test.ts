import { once } from "node:events";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { readBody } from "../../src/http/body.ts";
import { CallRecord } from "../../src/http/exchange.ts";

it("a body that had ended before anybody read it is empty", async () => {
  const body = Readable.from([]).resume();
  await once(body, "end");
  const bytes = readBody(body, {
    maxBytes: 10,
    framingBytes: 0,
    timeoutMs: 500,
    deadline: undefined,
    record: new CallRecord(),
  });
  await expect(bytes).resolves.toHaveLength(0);
});
