import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonNumber } from "../../src/exact-json/number.ts";
import { maxJsonDepth, maxJsonValues, parseJson } from "../../src/exact-json/parse.ts";

const encoder = new TextEncoder();

function parse(text: string): unknown {
  return parseJson(encoder.encode(text));
}

describe("a JSON text", () => {
  function check(text: string | Uint8Array, reason: string): void {
    expect(() => (typeof text === "string" ? parse(text) : parseJson(text))).toThrow(reason);
  }

  it("is refused when it is not JSON", () => {
    for (const text of [
      "",
      " ",
      "{",
      "[1,]",
      "{'a':1}",
      "01",
      "+1",
      "NaN",
      "nul",
      '"a',
      '{"a" 1}',
      "1 2",
      '"\t"',
      "//x",
    ]) {
      check(text, "must be valid JSON");
    }
  });

  it("is refused when it is not UTF-8", () => {
    for (const bytes of [[0xff], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0xaf, 0x22]]) {
      check(new Uint8Array(bytes), "must be in UTF-8");
    }
  });

  it("is refused when a string or a key holds half of a surrogate pair", () => {
    for (const text of [
      '"\\ud800"',
      '"\\uDC00"',
      '{"\\ud83d":1}',
      '["\\ud83d\\ud83d\\ude00"]',
      '"\\ud83d x"',
      '"\\\\\\ud800"',
      '{"a":"\\ud800","a":1}',
    ]) {
      check(text, "half of a surrogate pair");
    }
    expect(parse('["\\ud83d\\ude00","\\\\ud800","\\u0041","😀"]')).toEqual(["😀", "\\ud800", "A", "😀"]);
  });

  it("is refused when it nests too deep, before anything recurses", () => {
    expect(parse("[".repeat(maxJsonDepth) + "]".repeat(maxJsonDepth))).toHaveLength(1);
    const startedAtMs = performance.now();
    for (const depth of [maxJsonDepth + 1, 10_000, 1_000_000]) {
      check("[".repeat(depth) + "]".repeat(depth), "deeper than 100");
      check('{"a":'.repeat(depth), "deeper than 100");
    }
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
    expect(parse(`"${"[".repeat(1_000)}\\"${"[".repeat(1_000)}"`)).toHaveLength(2_001);
    expect(parse(`[${"[],".repeat(1_000)}{}]`)).toHaveLength(1_001);
  });

  it("is refused when it holds too many values", () => {
    expect(parse(`[${"1,".repeat(maxJsonValues - 2)}1]`)).toHaveLength(maxJsonValues - 1);
    for (const value of ["1", "0.1", "1.0", "[]", "{}", '{"a":1}', '""', "null"]) {
      check(`[${`${value},`.repeat(maxJsonValues)}1]`, "more than 50000 values");
    }
  });

  it("may begin with a byte order mark", () => {
    expect(parse("\ufeff[1]")).toEqual([1]);
  });
});

it("keeps the source of the numbers that a double would change", () => {
  expect(parse("[1,-1,1.5,0,9007199254740991]")).toEqual([1, -1, 1.5, 0, 9007199254740991]);
  for (const source of ["9007199254740993", "3.0", "-0", "1e400", "3.00000000000000000001"]) {
    expect(parse(`{"a":[${source}]}`)).toEqual({ a: [new JsonNumber(source)] });
  }
});

it("takes the last of repeated keys, and __proto__ for a key like others", () => {
  expect(parse('{"a":1,"a":2}')).toEqual({ a: 2 });
  const parsed = parse('{"__proto__":{"polluted":true}}') as Record<string, unknown>;
  expect(Object.keys(parsed)).toEqual(["__proto__"]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect(parsed.polluted).toBeUndefined();
});

it("keeps no text alive for a value of it", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const text = encoder.encode(`{"after":"a text of some length"${" ".repeat(1_000_000)}}`);
  collect();
  const before = process.memoryUsage().heapUsed;
  const values = Array.from({ length: 30 }, () => parseJson(text));
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
  expect(values).toHaveLength(30);
});

it("reads what JSON.stringify writes", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      if (text.isWellFormed() && !/\\ud[89a-f]/i.test(text)) {
        expect(JSON.stringify(parse(text), plain)).toBe(text);
      }
    }),
  );
});

function plain(_key: string, value: unknown): unknown {
  return value instanceof JsonNumber ? Number(value.source) : value;
}
