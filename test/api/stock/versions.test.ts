import { describe, expect, it } from "vitest";
import type { Protocol } from "../../support/clients/protocols.ts";
import { protocolNamed, protocols, rest } from "../../support/clients/protocols.ts";
import { expectFailure, expectSuccess } from "../../support/expectations.ts";
import { createHttp1Client } from "../../support/http.ts";
import type { Input } from "../../support/operations.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer();

const strong = /^"[\x21\x23-\x7e]+"$/;

async function tagOf(protocol: Protocol, petId: bigint): Promise<string> {
  return (await stock.get(protocol, "getInventory", { petId })).etag;
}

type Write = (petId: bigint, etag?: string) => Promise<{ etag: string }>;

/** The writes that a tag may guard. */
function writesOver(protocol: Protocol): Record<"update" | "adjust", Write> {
  return {
    update: (petId, etag) => stock.get(protocol, "updateInventory", { petId, update: { quantity: 5n }, etag }),
    adjust: (petId, etag) => stock.get(protocol, "adjustInventory", { petId, adjustment: { delta: 1n }, etag }),
  };
}

describe("over RPC", () => {
  it("a line's end is no part of a tag", async () => {
    const input: Input<"updateInventory"> = { petId: 7n, update: { quantity: 5n }, etag: "*\n" };
    await stock.expectNothingChanged(async () => {
      expectFailure(await stock.call(protocolNamed("gRPC"), "updateInventory", input), "INVALID_REQUEST");
    });
  });
});

describe.each(protocols)("over $name", (protocol) => {
  it("an entry has a strong tag, which stays the same while nobody writes", async () => {
    const tag = await tagOf(protocol, 7n);
    expect(tag).toMatch(strong);
    expect(await tagOf(rest, 7n)).toBe(tag);
  });

  it.each(["update", "adjust"] as const)(
    "an %s answers with a new tag, and the one that is read then",
    async (name) => {
      const before = await tagOf(protocol, 7n);
      const { etag } = await writesOver(protocol)[name](7n);
      expect(etag).toMatch(strong);
      expect(etag).not.toBe(before);
      expect(await tagOf(protocol, 7n)).toBe(etag);
    },
  );

  it("the same quantity written again has a new tag, and another pet's write has none", async () => {
    const { etag } = await writesOver(protocol).update(7n);
    expect((await writesOver(protocol).update(7n)).etag).not.toBe(etag);
    const other = await tagOf(protocol, 8n);
    await writesOver(protocol).update(7n);
    expect(await tagOf(protocol, 8n)).toBe(other);
  });

  it("a hold and a release leave the tag, and a commit makes a new one", async () => {
    await stock.set(6n, 10n);
    const before = await tagOf(protocol, 6n);
    const [kept, given] = [
      await stock.get(protocol, "createHold", { petId: 6n, quantity: 1n }),
      await stock.get(protocol, "createHold", { petId: 6n, quantity: 1n }),
    ].map(({ hold }) => hold?.holdId as string);
    await stock.get(protocol, "releaseHold", { holdId: given as string });
    expect(await tagOf(protocol, 6n)).toBe(before);
    await stock.get(protocol, "commitHold", { holdId: kept as string });
    expect(await tagOf(protocol, 6n)).not.toBe(before);
  });

  it.each<[name: string, ifMatch: (tag: string) => string]>([
    ["the tag", (tag) => tag],
    ["any", () => "*"],
    ["several tags", (tag) => `"other", ${tag}`],
    ["a weak tag of another, and the tag", (tag) => `W/"x", ${tag}`],
  ])("writes are done where %s matches", async (_name, ifMatch) => {
    for (const write of Object.values(writesOver(protocol))) {
      await write(7n, ifMatch(await tagOf(protocol, 7n)));
    }
  });

  it.each<[name: string, ifMatch: (tag: string) => string]>([
    ["a spent tag", () => '"0"'],
    ["the tag as a weak one", (tag) => `W/${tag}`],
    ["an empty tag", () => '""'],
    ["a list of others", () => '"a" ,, "b"'],
    ["another case", (tag) => tag.toUpperCase().replaceAll("-", "_")],
  ])("writes are refused with PRECONDITION_FAILED for %s, and change nothing", async (_name, ifMatch) => {
    const etag = ifMatch(await tagOf(protocol, 7n));
    await stock.expectNothingChanged(async () => {
      const update: Input<"updateInventory"> = { petId: 7n, update: { quantity: 5n }, etag };
      expectFailure(await stock.call(protocol, "updateInventory", update), "PRECONDITION_FAILED");
      const adjustment: Input<"adjustInventory"> = { petId: 7n, adjustment: { delta: 1n }, etag };
      expectFailure(await stock.call(protocol, "adjustInventory", adjustment), "PRECONDITION_FAILED");
    });
  });

  it.each(['W/"a', '"1', "1", "", ",", 'w/"a"', '"a" "b"', '*, "a"', '"a", *', "'a'", '"a\tb"'])(
    "writes are refused with INVALID_REQUEST for the tag %j, and change nothing",
    async (etag) => {
      await stock.expectNothingChanged(async () => {
        const outcome = await stock.call(protocol, "updateInventory", { petId: 7n, update: { quantity: 5n }, etag });
        expectFailure(outcome, "INVALID_REQUEST");
        expect(outcome.failure?.message).toMatch(outcome.failure?.http ? /^If-Match: / : /^etag: /);
      });
    },
  );

  it("a weak tag is refused with what is wrong with it", async () => {
    const etag = `W/${await tagOf(protocol, 7n)}`;
    const outcome = await stock.call(protocol, "updateInventory", { petId: 7n, update: { quantity: 5n }, etag });
    expect(outcome.failure?.message).toMatch(/^A weak tag, such as W\/"a", matches no version\. /);
  });

  it("an unknown pet is 404, whatever the tag", async () => {
    const input: Input<"updateInventory"> = { petId: 404n, update: { quantity: 5n }, etag: '"a"' };
    expectFailure(await stock.call(protocol, "updateInventory", input), "PET_NOT_FOUND");
  });

  it("a spent tag is told before a lack of stock", async () => {
    const input: Input<"adjustInventory"> = { petId: 7n, adjustment: { delta: -1_000_000n }, etag: '"a"' };
    expectFailure(await stock.call(protocol, "adjustInventory", input), "PRECONDITION_FAILED");
  });

  it("an entry that is not there is 404", async () => {
    expectFailure(await stock.call(protocol, "getInventory", { petId: 404n }), "PET_NOT_FOUND");
    expectFailure(await stock.call(protocol, "getAvailability", { petId: 404n }), "PET_NOT_FOUND");
  });
});

describe("over REST", () => {
  async function send(method: string, headers: Record<string, string>, body?: string) {
    const http = createHttp1Client(stock.server);
    const all = { authorization: `Bearer ${stock.key.key}`, "content-type": "application/json", ...headers };
    const answer = await http.send({ method, path: "/v1/inventory/7", headers: all, body });
    http.close();
    return answer;
  }

  it("the entry stands alone in the body, and its tag in ETag", async () => {
    await stock.set(7n, 12n);
    const answer = await send("GET", {});
    expect(answer.text.trim()).toBe('{"petId":7,"quantity":12,"status":"pending"}');
    expect(answer.headers.get("etag")).toMatch(strong);
    const head = await send("HEAD", {});
    expect([head.status, head.text, head.headers.get("etag")]).toEqual([200, "", answer.headers.get("etag")]);
  });

  it("If-None-Match answers 304 while the entry is the same", async () => {
    const etag = await stock.set(7n, 12n);
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const same = await send("GET", { "if-none-match": tag });
      expect([same.status, same.text, same.headers.get("etag")]).toEqual([304, "", etag]);
    }
    await stock.set(7n, 12n);
    expect((await send("GET", { "if-none-match": etag })).status).toBe(200);
  });
});

it("64 clients write with the tag they have read, and one succeeds", async () => {
  await stock.set(5n, 0n);
  const etag = await tagOf(rest, 5n);
  const outcomes = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      stock.call(protocols[index % protocols.length] ?? rest, "updateInventory", {
        petId: 5n,
        update: { quantity: BigInt(index) },
        etag,
      }),
    ),
  );
  const [done, refused] = [true, false].map((isDone) =>
    outcomes.filter(({ message }) => (message !== undefined) === isDone),
  );
  expect(done).toHaveLength(1);
  for (const outcome of refused ?? []) {
    expectFailure(outcome, "PRECONDITION_FAILED");
  }
  const { item } = expectSuccess(done?.[0] as NonNullable<typeof outcomes>[number]);
  expect(await stock.quantityOf(5n)).toBe(item?.quantity);
});
