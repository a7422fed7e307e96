import { create, fromJson, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { binaryCodec, createJsonCodec } from "../../src/rpc/codec.ts";
import { registry } from "../gateway/fixture.ts";
import { type Shape, ShapeSchema } from "../gateway/gen/shapes/v1/shapes_pb.ts";

const codec = createJsonCodec(registry);
const read = (text: string): Shape => codec.decode(ShapeSchema, new TextEncoder().encode(text));
const readByLibrary = (text: string): Shape => fromJson(ShapeSchema, JSON.parse(text), { registry });

/** What a reader makes of a text; undefined when it refuses it. */
function attempt(reader: (text: string) => Shape, text: string): Shape | undefined {
  try {
    return reader(text);
  } catch {
    return undefined;
  }
}

function expectAsLibrary(text: string): void {
  expect(attempt(read, text), text).toEqual(attempt(readByLibrary, text));
}

describe("ProtoJSON that holds nothing unknown", () => {
  const numbers = ["0", "7", "-7", "1.0", "10e-1", "1.5", "2147483647", "2147483648", "4294967296", "1e40"];
  const texts = ["", "7", "-7", "NaN", "Infinity", "-Infinity", "nan", "COLOUR_RED", "red", "aGk=", "\u{1f600}"];
  const special = ["2026-01-02T03:04:05.006Z", "1.5s", "a,bC", "true", "9223372036854775807"];
  const value = fc.oneof(
    fc.constantFrom(...numbers, "true", "false", "null", "[]", "{}", "[null]"),
    fc.constantFrom(...texts, ...special).map((text) => JSON.stringify(text)),
  );
  const fields = ShapeSchema.fields.flatMap(({ name, jsonName }) => [name, jsonName]);
  const maps = ["counts", "names", "painted", "objectMap", "object", "value"];
  const { object } = fc.letrec<{ object: string; member: string }>((tie) => ({
    object: fc.array(tie("member"), { maxLength: 4 }).map((members) => `{${members.join()}}`),
    member: fc.oneof(
      fc.tuple(fc.constantFrom(...fields), value).map(([name, json]) => `"${name}":${json}`),
      fc.tuple(fc.constantFrom(...fields), fc.array(value)).map(([name, items]) => `"${name}":[${items.join()}]`),
      fc
        .tuple(fc.constantFrom(...maps), fc.constantFrom("1", "true", "a"), value)
        .map(([name, key, json]) => `"${name}":{"${key}":${json}}`),
      fc.tuple(fc.constantFrom("child", "shapeChoice"), tie("object")).map(([name, json]) => `"${name}":${json}`),
      tie("object").map((json) => `"children":[${json}]`),
    ),
  }));

  it("is read, or refused, as by the library", () => {
    // The library counts a null as a message or a wrapper of a oneof.
    const likeLibrary = object.filter((text) => !/[cC]hoice":null/.test(text));
    fc.assert(fc.property(likeLibrary, expectAsLibrary), { numRuns: 3_000 });
  });

  it.each(fields)("is so for the field %s, whatever stands in it", (field) => {
    const all = [
      ...numbers,
      "true",
      "null",
      "[]",
      "{}",
      "[1]",
      '{"1":1}',
      ...[...texts, ...special].map((text) => JSON.stringify(text)),
    ];
    for (const json of all.filter((json) => json !== '{"1":1}' || maps.includes(field))) {
      expectAsLibrary(`{"${field}":${json}}`);
      expectAsLibrary(`{"${field}":[${json}]}`);
    }
  });
});

describe("an integer that a double would change", () => {
  const id = 9007199254740993n;

  it.each<[json: string, pick: (shape: Shape) => unknown, value: unknown]>([
    [`"big":${id}`, ({ big }) => big, id],
    [`"big":${id}.0`, ({ big }) => big, id],
    [`"big":9223372036854775807`, ({ big }) => big, 2n ** 63n - 1n],
    [`"huge":18446744073709551615`, ({ huge }) => huge, 2n ** 64n - 1n],
    [`"asText":${id}`, ({ asText }) => asText, `${id}`],
    [`"bigs":[${id}]`, ({ bigs }) => bigs, [id]],
    [`"counts":{"a":${id}}`, ({ counts }) => counts, { a: id }],
    [`"bigChoice":${id}`, ({ choice }) => choice.value, id],
    [`"wrappedBig":${id}`, ({ wrappedBig }) => wrappedBig, id],
    [`"wrappedBigs":[{"value":${id}}]`, () => undefined, "refused"],
    [`"wrappedBigs":[${id}]`, ({ wrappedBigs }) => wrappedBigs.map(({ value }) => value), [id]],
    [`"child":{"big":${id}}`, ({ child }) => child?.big, id],
    [`"big":9223372036854775808`, () => undefined, "refused"],
    [`"big":3.0000000000000000001`, () => undefined, "refused"],
    [`"small":3.0000000000000000001`, () => undefined, "refused"],
    [`"colour":1.0000000000000000001`, () => undefined, "refused"],
    [`"wrappedBig":1e400`, () => undefined, "refused"],
    [`"small":1e999999999`, () => undefined, "refused"],
    [`"value":1e400`, () => undefined, "refused"],
    [`"object":{"a":[-1e400]}`, () => undefined, "refused"],
    [`"small":-0`, ({ small }) => small, 0],
    [`"big":-0.0`, ({ big }) => big, 0n],
    [`"counts":3.0`, () => undefined, "refused"],
    [`"bigs":3.0`, () => undefined, "refused"],
  ])("is exact, or refused: %s", (json, pick, value) => {
    const shape = attempt(read, `{${json}}`);
    expect(shape === undefined ? "refused" : pick(shape)).toEqual(value);
  });
});

describe("what protobuf-es reads otherwise than ProtoJSON", () => {
  it.each<[json: string, pick: (shape: Shape) => unknown, value: unknown]>([
    ...["0x10", "0b11", "0o17", "+5", "05", " 1", "1 ", "", " ", "\\n", "1.5", "1e40", "-", "1_0", "1n"].flatMap(
      (text): [string, () => undefined, "refused"][] =>
        ["big", "huge", "small", "wrappedBig", "bigChoice"].map((name) => [
          `"${name}":"${text}"`,
          () => undefined,
          "refused",
        ]),
    ),
    ['"big":"1e2"', ({ big }) => big, 100n],
    ['"big":"1.0"', ({ big }) => big, 1n],
    ['"big":"-0"', ({ big }) => big, 0n],
    ['"small":"10e-1"', ({ small }) => small, 1],
    ['"exact":"0x7"', () => undefined, "refused"],
    ['"exact":"1."', () => undefined, "refused"],
    ['"exact":"1e2"', ({ exact }) => exact, 100],
    ['"span":"900seconds"', () => undefined, "refused"],
    ['"span":"5s later"', () => undefined, "refused"],
    ['"span":"5s\\n"', () => undefined, "refused"],
    ['"span":"1.0000000001s"', () => undefined, "refused"],
    ['"span":"-0.5s"', ({ span }) => span?.nanos, -500_000_000],
    ['"time":"2026-02-30T00:00:00Z"', () => undefined, "refused"],
    ['"data":"a b="', () => undefined, "refused"],
    ['"names":{"0x1":"a"}', () => undefined, "refused"],
    ['"names":{"01":"a"}', () => undefined, "refused"],
    ['"any":{"@type":"x/shapes.v1.Shape","big":"0x1"}', () => undefined, "refused"],
    ['"any":{"@type":"x/google.protobuf.Timestamp"}', () => undefined, "refused"],
  ])("is exact, or refused: %s", (json, pick, value) => {
    const shape = attempt(read, `{${json}}`);
    expect(shape === undefined ? "refused" : pick(shape)).toEqual(value);
  });
});

describe("null", () => {
  it.each(ShapeSchema.fields.filter(({ name }) => name !== "value" && name !== "null_choice"))(
    "is no value of $name",
    ({ name, jsonName }) => {
      for (const text of [`{"${name}":null}`, `{"${jsonName}":null}`]) {
        expect(read(text)).toEqual(read("{}"));
      }
    },
  );

  it("is a value of Value and NullValue", () => {
    expect(read('{"value":null}').value?.kind).toEqual({ case: "nullValue", value: 0 });
    expect(read('{"nullChoice":null}').choice).toEqual({ case: "nullChoice", value: 0 });
    expect(read('{"nullChoice":"NULL_VALUE"}').choice).toEqual({ case: "nullChoice", value: 0 });
  });

  it("leaves the other fields of a oneof", () => {
    const choice = { case: "bigChoice", value: 7n };
    for (const name of ["textChoice", "shapeChoice", "wrappedChoice"]) {
      expect(read(`{"${name}":null,"bigChoice":7}`).choice).toEqual(choice);
      expect(read(`{"bigChoice":7,"${name}":null}`).choice).toEqual(choice);
    }
    expect(attempt(read, '{"nullChoice":null,"bigChoice":7}')).toBeUndefined();
  });

  it.each(['"texts":[null]', '"wrappedBigs":[null]', '"objects":[null]', '"counts":{"a":null}', '"times":[null]'])(
    "is refused inside of a list or a map: %s",
    (json) => {
      expect(attempt(read, `{${json}}`)).toBeUndefined();
    },
  );

  it("is refused beside the other name of its field", () => {
    expect(attempt(read, '{"signedFixed":1,"signed_fixed":null}')).toBeUndefined();
    expect(attempt(read, '{"signedFixed":null,"signed_fixed":1}')).toBeUndefined();
  });

  it("is no message", () => {
    expect(attempt(read, "null")).toBeUndefined();
  });
});

describe("a name that is unknown", () => {
  it.each([
    '"x":1',
    '"x":{"y":[{"z":9007199254740993}]}',
    '"child":{"x":1}',
    '"children":[{"x":1}]',
    '"shapes":{"a":{"x":1}}',
    '"empty":{"x":1}',
    '"[shapes.v1.extension]":1',
    '"__proto__":{"small":"no number"}',
  ])("is ignored as a field's: %s", (json) => {
    expect(read(`{"name":"n",${json}}`).name).toBe("n");
  });

  it.each(['"colour":"PINK"', '"colours":["COLOUR_RED","PINK"]', '"painted":{"true":"PINK"}', '"any":{"@type":"x"}'])(
    "is refused elsewhere: %s",
    (json) => {
      expect(attempt(read, `{${json}}`)).toBeUndefined();
    },
  );
});

describe("protobuf of more than 50,000 bytes", () => {
  const long = "x".repeat(60_000);
  const shape = (fields: MessageInitShape<typeof ShapeSchema>) => create(ShapeSchema, fields);

  it.each([
    ["a long text", shape({ texts: [long] })],
    ["a map of messages, and a long text", shape({ texts: [long], shapes: { a: { bigs: [1n] } } })],
    ["a long text within a map", shape({ names: { 7: long } })],
  ])("is read with %s", (_title, message) => {
    expect(binaryCodec.decode(ShapeSchema, toBinary(ShapeSchema, message))).toEqual(message);
  });

  it.each([
    ["packed numbers", shape({ bigs: Array.from({ length: 50_001 }, () => 1n) })],
    ["messages", shape({ children: Array.from({ length: 50_001 }, () => ({})) })],
    ["messages of a message", shape({ child: { children: Array.from({ length: 50_000 }, () => ({})) } })],
  ])("is refused with so many %s", (_title, message) => {
    const bytes = toBinary(ShapeSchema, message);
    expect(() => binaryCodec.decode(ShapeSchema, bytes)).toThrow("must not hold more than 50000 values");
  });
});

describe("a message in the wire format that is large enough to be counted", () => {
  const name = "a".repeat(60_000);

  it("may have fields of every kind", () => {
    const shape: MessageInitShape<typeof ShapeSchema> = {
      name,
      small: -1,
      unsigned: 1,
      big: -1n,
      huge: 1n,
      zigzag: -1n,
      fixed: 1,
      signedFixed: -1n,
      flag: true,
      data: Uint8Array.of(1),
      ratio: 0.5,
      exact: 0.1,
      colour: 1,
      maybe: 0n,
      maybeText: "",
      maybeColour: 0,
      texts: ["a", "b"],
      bigs: [1n, 2n],
      colours: [1, 0],
      children: [{ small: 1 }, {}],
      child: { bigs: [3n] },
      counts: { a: 1n },
      names: { "1": "a" },
      painted: { true: 1 },
      shapes: { a: { fixed: 1 } },
      time: { seconds: 1n, nanos: 1 },
    };
    const message = create(ShapeSchema, shape);
    expect(binaryCodec.decode(ShapeSchema, toBinary(ShapeSchema, message))).toEqual(message);
    const unpacked = new BinaryWriter().tag(21, WireType.Varint).int64(1).tag(21, WireType.Varint).int64(2).finish();
    const bytes = Buffer.concat([toBinary(ShapeSchema, create(ShapeSchema, { name })), unpacked]);
    expect(binaryCodec.decode(ShapeSchema, bytes).bigs).toEqual([1n, 2n]);
  });

  it("may not hide values behind packed numbers whose last one ends behind their length", () => {
    const count = 100_000;
    // Whoever leaves these numbers by their length finds an unknown field 15 next, of 178 bytes, and so on.
    const odd = new BinaryWriter().tag(21, WireType.LengthDelimited).uint32(1).raw(Uint8Array.of(0x80, 0x7a)).finish();
    const packed = new BinaryWriter().tag(21, WireType.LengthDelimited).uint32(count).finish();
    const numbers = Buffer.alloc(count, 1);
    const next = 0xaa + 1 - (packed.length - 1);
    numbers.set(
      new BinaryWriter()
        .tag(15, WireType.LengthDelimited)
        .uint32(count - next - 4)
        .finish(),
      next,
    );
    expect(() => binaryCodec.decode(ShapeSchema, Buffer.concat([odd, packed, numbers]))).toThrow(
      "The request must not hold more than 50000 values.",
    );
  });

  // The library reads a known field by its kind. After another wire type it would find other fields than are counted.
  it.each([
    ["the start of a group", 21, WireType.StartGroup, 0],
    ["the start of a group for a message", 24, WireType.StartGroup, 0],
    ["eight bytes for a list", 21, WireType.Bit64, 8],
    ["eight bytes for an integer", 4, WireType.Bit64, 8],
    ["four bytes for a text", 1, WireType.Bit32, 4],
    ["an integer for a map", 30, WireType.Varint, 1],
    ["an integer for eight bytes", 8, WireType.Varint, 1],
    ["a length for an integer", 2, WireType.LengthDelimited, 1],
    ["the end of a group that has not begun", 90, WireType.EndGroup, 0],
  ])("is malformed with another wire type: %s", (_what, field, wireType, length) => {
    const odd = new BinaryWriter().tag(field, wireType).raw(new Uint8Array(length)).finish();
    const bytes = Buffer.concat([odd, toBinary(ShapeSchema, create(ShapeSchema, { name }))]);
    expect(() => binaryCodec.decode(ShapeSchema, bytes)).toThrow(
      "The request is not a valid shapes.v1.Shape. Check its encoding.",
    );
  });
});
