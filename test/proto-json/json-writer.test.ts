import { create, type DescMessage, fromJsonString, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { anyPack, TimestampSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/exact-json/parse.ts";
import { protoJson } from "../../src/proto-json/json-policy.ts";
import { JsonReaders } from "../../src/proto-json/json-reader.ts";
import { JsonWriters } from "../../src/proto-json/json-writer.ts";
import { policy, registry } from "../gateway/fixture.ts";
import { LegacySchema } from "../gateway/gen/shapes/v1/legacy_pb.ts";
import { ListShapesResponseSchema } from "../gateway/gen/shapes/v1/shape_service_pb.ts";
import { Colour, ShapeSchema } from "../gateway/gen/shapes/v1/shapes_pb.ts";

const sparse = new JsonWriters({ ...policy, implicitFields: "unless-default" }, registry);

function check(init: MessageInitShape<typeof ShapeSchema>, expected: string): void {
  expect(sparse.message(ShapeSchema)(create(ShapeSchema, init))).toBe(expected);
}

describe("a field of an answer", () => {
  it("is written by its type", () => {
    check({}, "{}");
    check({ name: 'é"\n', flag: true }, '{"name":"é\\"\\n","flag":true}');
    check(
      { big: 9223372036854775807n, huge: 18446744073709551615n },
      '{"big":9223372036854775807,"huge":18446744073709551615}',
    );
    check({ small: -1, asText: "9007199254740993" }, '{"small":-1,"asText":9007199254740993}');
    check({ data: new Uint8Array([255, 239]) }, '{"data":"/+8="}');
    check({ ratio: Number.NaN, exact: -Infinity }, '{"ratio":"NaN","exact":"-Infinity"}');
    check({ exact: 1e21 }, '{"exact":1e+21}');
    check({ colour: Colour.DARK_BLUE, colours: [0, 1] }, '{"colour":"dark_blue","colours":["unspecified","red"]}');
    check({ colour: 99 as Colour }, '{"colour":99}');
    check({ customName: "a" }, '{"@custom":"a"}');
  });

  it("is written when it has presence and is set, be it to its default", () => {
    check({ maybe: 0n, maybeText: "", wrappedBig: 0n }, '{"maybe":0,"maybeText":"","wrappedBig":0}');
    check({ choice: { case: "textChoice", value: "" } }, '{"textChoice":""}');
    check({ choice: { case: "wrappedChoice", value: { value: "a" } } }, '{"wrappedChoice":"a"}');
    check({ choice: { case: "nullChoice", value: 0 } }, '{"nullChoice":null}');
    check({ child: {} }, '{"child":{}}');
  });

  it("may be a list, a map or a message", () => {
    check({ texts: ["", "a"], children: [{}, { name: "a" }] }, '{"texts":["","a"],"children":[{},{"name":"a"}]}');
    check(
      { counts: { 'a"': 9007199254740993n }, names: { "-5": "x" } },
      '{"counts":{"a\\"":9007199254740993},"names":{"-5":"x"}}',
    );
  });

  it("may be a well-known type", () => {
    check({ time: { seconds: 1n, nanos: 500_000_000 } }, '{"time":"1970-01-01T00:00:01.500Z"}');
    check({ span: { seconds: -1n, nanos: -1 } }, '{"span":"-1.000000001s"}');
    check({ mask: { paths: ["a_b.c"] } }, '{"mask":"aB.c"}');
    check({ wrappedBigs: [{ value: 9007199254740993n }] }, '{"wrappedBigs":[9007199254740993]}');
    check(
      { object: { a: [1, null] }, objects: [{}], empty: {} },
      '{"object":{"a":[1,null]},"empty":{},"objects":[{}]}',
    );
    check({ value: { kind: { case: "nullValue", value: 0 } } }, '{"value":null}');
    check(
      { wrappedDouble: Number.NaN, wrappedData: new Uint8Array([1]) },
      '{"wrappedDouble":"NaN","wrappedData":"AQ=="}',
    );
  });

  it("may be an Any, which follows the policy too", () => {
    const big = anyPack(ShapeSchema, create(ShapeSchema, { big: 9007199254740993n }));
    check({ any: big }, '{"any":{"@type":"type.googleapis.com/shapes.v1.Shape","big":9007199254740993}}');
    check(
      { any: anyPack(ShapeSchema, create(ShapeSchema)) },
      '{"any":{"@type":"type.googleapis.com/shapes.v1.Shape"}}',
    );
    const time = anyPack(TimestampSchema, create(TimestampSchema));
    check(
      { any: time },
      '{"any":{"@type":"type.googleapis.com/google.protobuf.Timestamp","value":"1970-01-01T00:00:00Z"}}',
    );
    check({ any: {} }, '{"any":{}}');
    expect(() => check({ any: { typeUrl: "x/unknown.Type" } }, "")).toThrow("not in the registry");
  });
});

it("writes defaults when the policy says so, save what has presence", () => {
  const always = new JsonWriters(policy, registry);
  const response = create(ListShapesResponseSchema);
  expect(always.message(ListShapesResponseSchema)(response)).toBe('{"shapes":[],"nextPageToken":"","total":0}');
  const shape = JSON.parse(always.message(ShapeSchema)(create(ShapeSchema))) as Record<string, unknown>;
  expect(shape).toMatchObject({
    big: 0,
    colour: "unspecified",
    data: "",
    ratio: 0,
    texts: [],
    counts: {},
    flag: false,
  });
  expect(shape).not.toHaveProperty("maybe");
  expect(shape).not.toHaveProperty("child");
  expect(shape).not.toHaveProperty("textChoice");
});

it("leaves the defaults of proto2 out, unless they are set", () => {
  const write = sparse.message(LegacySchema);
  expect(write(create(LegacySchema))).toBe("{}");
  expect(write(create(LegacySchema, { count: 7n }))).toBe('{"count":7}');
});

/** Initializers of shapes, two levels deep. */
const inits = fc.letrec<{ shape: MessageInitShape<typeof ShapeSchema> }>((tie) => ({
  shape: fc.record(
    {
      name: fc.string({ unit: "grapheme" }),
      small: fc.integer(),
      big: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      huge: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      flag: fc.boolean(),
      data: fc.uint8Array(),
      exact: fc.double(),
      colour: fc.constantFrom(Colour.RED, Colour.DARK_BLUE),
      maybe: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      texts: fc.array(fc.string({ unit: "grapheme" })),
      counts: fc.dictionary(fc.string({ unit: "grapheme" }), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })),
      time: fc.record({ seconds: fc.bigInt({ min: 0n, max: 10n ** 10n }), nanos: fc.nat(999_999_999) }),
      wrappedBig: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
      child: fc.oneof({ depthSize: "small", withCrossShrink: true }, fc.constant({}), tie("shape")),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<MessageInitShape<typeof ShapeSchema>>,
})).shape;

function readBack(text: string, desc: DescMessage, readers: JsonReaders): unknown {
  return readers.message(desc)(parseJson(new TextEncoder().encode(text)));
}

it("writes what the reader reads back", () => {
  const readers = new JsonReaders(policy, registry);
  fc.assert(
    fc.property(inits, (init) => {
      const shape = create(ShapeSchema, init);
      expect(readBack(sparse.message(ShapeSchema)(shape), ShapeSchema, readers)).toEqual(shape);
    }),
  );
});

it("writes under the policy of ProtoJSON what protobuf-es writes", () => {
  const writers = new JsonWriters(protoJson, registry);
  fc.assert(
    fc.property(inits, (init) => {
      const shape = create(ShapeSchema, init);
      const text = writers.message(ShapeSchema)(shape);
      expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(toJson(ShapeSchema, shape)));
      expect(fromJsonString(ShapeSchema, text)).toEqual(shape);
    }),
  );
});
