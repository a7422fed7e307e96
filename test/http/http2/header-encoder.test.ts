import { describe, expect, it } from "vitest";
import { staticTable } from "../../../src/http/http2/field.ts";
import { requestFrame } from "../../security/http2-frames.ts";
import { Random } from "../../support/random.ts";
import { openBare, settingsFrame } from "./bare-client.ts";
import { ask, connectNode, serve } from "./served.ts";

/** Serves answers with these headers, one list after the other. */
function serveLists(lists: readonly (readonly string[])[]) {
  let next = 0;
  return serve((stream) => stream.respond(200, lists[next++] ?? [], true));
}

/** A list whose names and values recur, or are new, short, long, or of bytes beyond ASCII. */
function randomList(random: Random): string[] {
  return Array.from({ length: random.below(12) }, () => {
    const name = random.pick([
      "etag",
      "vary",
      "x-a",
      "x-b",
      "grpc-status",
      `x-${random.below(50)}`,
      `x-${random.next()}`,
    ]);
    const value = random.pick([
      "",
      "same",
      String(random.below(3)),
      String(random.next()),
      "é\u00ff\t ~".slice(random.below(3), 3 + random.below(2)),
      "l".repeat(random.below(200)),
      "m".repeat(random.pick([126, 127, 128, 254, 255, 4_000, 4_064, 4_096])),
    ]);
    // Node's client takes the spaces around a value for no part of it.
    return [name, value.trim()];
  }).flat();
}

const tableBytes = [0, 1, 64, 100, 1_000, 4_095, 4_096, 4_097, 65_536];

describe("headers reach Node's client as they are", () => {
  it("with every name of the static table, twice", async () => {
    const names = staticTable.map(({ name }) => name).filter((name) => !/^:|^transfer-encoding$/.test(name));
    const list = names.flatMap((name) => [name, name === "content-length" ? "0" : `value of ${name}`]);
    const session = await connectNode(await serveLists([list, list]));
    for (let round = 0; round < 2; round++) {
      expect((await ask(session)).raw.slice(2)).toEqual(list);
    }
  });

  it.each([200, 204, 206, 304, 400, 404, 500, 418, 599])("with the status %i", async (status) => {
    const session = await connectNode(await serve((stream) => stream.respond(status, ["x-a", "b"], true)));
    for (let round = 0; round < 2; round++) {
      expect((await ask(session)).raw).toEqual([":status", String(status), "x-a", "b"]);
    }
  });

  it.each(tableBytes)("in 500 random lists with a table of %i bytes", async (headerTableSize) => {
    const random = new Random(headerTableSize);
    const lists = Array.from({ length: 500 }, () => randomList(random));
    const session = await connectNode(await serveLists(lists), { headerTableSize });
    for (const list of lists) {
      expect((await ask(session)).raw.slice(2)).toEqual(list);
    }
  });

  it("in random lists while the table grows and shrinks, also twice between two of them", async () => {
    const seed = Date.now();
    const random = new Random(seed);
    const lists = Array.from({ length: 1_000 }, () => randomList(random));
    const session = await connectNode(await serveLists(lists));
    for (const list of lists) {
      for (let changes = random.oneIn(5) ? 1 + random.below(3) : 0; changes > 0; changes--) {
        session.settings({ headerTableSize: random.pick(tableBytes) });
      }
      expect((await ask(session)).raw.slice(2), `seed ${seed}`).toEqual(list);
    }
  });

  it("in a list that takes several frames", async () => {
    const list = Array.from({ length: 60 }, (_, i) => [`x-${i}`, String(i % 10).repeat(1_000)]).flat();
    const session = await connectNode(await serveLists([list, ["x-0", "next"]]));
    expect((await ask(session)).raw.slice(2)).toEqual(list);
    expect((await ask(session)).raw.slice(2)).toEqual(["x-0", "next"]);
  });
});

describe("the bytes of a header block", () => {
  /** The sizes of the blocks of answers with these lists. */
  async function sizesOf(lists: readonly (readonly string[])[], ...settings: Buffer[]): Promise<number[]> {
    const client = await openBare(await serveLists(lists), ...settings);
    const sizes: number[] = [];
    for (const [i, list] of lists.entries()) {
      client.send(requestFrame({ ":path": "/" }, 2 * i + 1));
      const { payload, fields } = await client.find({ type: "headers", stream: 2 * i + 1 });
      const expected = Array.from({ length: list.length / 2 }, (_, at) => `${list[2 * at]}: ${list[2 * at + 1]}`);
      expect(fields).toEqual([":status: 200", ...expected]);
      sizes.push(payload.length);
    }
    return sizes;
  }

  it("are one for the status and one for each field that was sent before", async () => {
    const list = ["x-a", "a", "etag", "b"];
    expect((await sizesOf([list, list])).at(-1)).toBe(3);
  });

  it("stay few for a field whose list has values that change each time", async () => {
    const lists = Array.from({ length: 300 }, (_, i) => ["x-kept", "kept", "x-request-id", `${i}`.repeat(50)]);
    // The status, the index of the kept field, and that of the other's name.
    const sizes = (await sizesOf(lists)).map((size, i) => size - `${i}`.repeat(50).length);
    expect(Math.max(...sizes.slice(2))).toBeLessThanOrEqual(1 + 1 + 4);
  });

  it("are the whole texts where the client allows no table", async () => {
    const list = ["x-a", "a"];
    const [, second, third] = await sizesOf([list, list, list], settingsFrame([1, 0]));
    expect([second, third]).toEqual([1 + 1 + 4 + 2, 1 + 1 + 4 + 2]);
  });
});

describe("a field that cannot be written", () => {
  it.each([
    ["X-Upper", "a"],
    ["", "a"],
    [":status", "200"],
    ["with space", "a"],
    ["x-é", "a"],
    ["x-a", "line\nfeed"],
    ["x-a", "carriage\rreturn"],
    ["x-a", "\u0000"],
    ["x-a", "\u007f"],
    ["x-a", "€"],
  ])("is refused before anything is written: %j: %j", async (name, value) => {
    const good = ["x-a", "a", "x-b", "b"];
    const served = await serve((stream) => {
      expect(() => stream.respond(200, [...good, "x-new", "c", name, value], true)).toThrow(TypeError);
      stream.respond(200, good, false);
      expect(() => stream.end(["x-late", "d", name, value])).toThrow(TypeError);
      stream.end(["x-late", "d"]);
    });
    const session = await connectNode(served);
    for (let round = 0; round < 3; round++) {
      const { raw, trailer } = await ask(session);
      expect({ raw, trailer }).toEqual({ raw: [":status", "200", ...good], trailer: ["x-late", "d"] });
    }
  });
});

it("a smaller table is announced at the head of the first block after the settings are acknowledged", async () => {
  const list = ["x-a", "a"];
  const client = await openBare(await serveLists([list, list, list]));
  client.send(requestFrame({ ":path": "/" }, 1));
  await client.find({ type: "headers", stream: 1 });
  client.send(settingsFrame([1, 64]), settingsFrame([1, 0]), settingsFrame([1, 128]));
  client.send(requestFrame({ ":path": "/" }, 3));
  const { payload } = await client.find({ type: "headers", stream: 3 });
  // The smallest size in between, and the present one. Source: RFC 7541, section 4.2
  expect(payload.subarray(0, 4).toString("hex")).toBe("203f6188");
});

it("names beyond the first 128 are not added to the table", async () => {
  const names = Array.from({ length: 129 }, (_, i) => [`x-${i}`, "a"]);
  const client = await openBare(await serveLists([...names, ["x-128", "a"]]));
  const firstByteOf = async (stream: number) => {
    client.send(requestFrame({ ":path": "/" }, stream));
    // Behind the status, which is one byte.
    return (await client.find({ type: "headers", stream })).payload[1];
  };
  for (let i = 0; i < 128; i++) {
    expect(await firstByteOf(2 * i + 1)).toBe(0x40);
  }
  expect(await firstByteOf(257)).toBe(0x00);
  expect(await firstByteOf(259)).toBe(0x00);
});
