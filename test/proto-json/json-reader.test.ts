import { create, type DescMessage, type Message, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack, TimestampSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/exact-json/parse.ts";
import { ContentFault } from "../../src/proto-json/content-fault.ts";
import { protoJson } from "../../src/proto-json/json-policy.ts";
import { JsonReaders } from "../../src/proto-json/json-reader.ts";
import { policy, registry } from "../gateway/fixture.ts";
import { LegacySchema } from "../gateway/gen/shapes/v1/legacy_pb.ts";
import { Colour, type Shape, ShapeSchema } from "../gateway/gen/shapes/v1/shapes_pb.ts";

const readers = new JsonReaders(policy, registry);

function read(text: string, desc: DescMessage = ShapeSchema, from = readers): Message {
  return from.message(desc)(parseJson(new TextEncoder().encode(text))) as Message;
}

function check(text: string, expected: MessageInitShape<typeof ShapeSchema>, from = readers): void {
  const message = read(text, ShapeSchema, from);
  expect(message, text).toEqual(create(ShapeSchema, expected));
  expect(toBinary(ShapeSchema, message as Shape)).toEqual(toBinary(ShapeSchema, create(ShapeSchema, expected)));
}

function checkFault(text: string, path: string, reason: string | RegExp, from = readers): void {
  let fault: unknown;
  try {
    read(text, ShapeSchema, from);
  } catch (error) {
    fault = error;
  }
  expect(fault, text).toBeInstanceOf(ContentFault);
  expect((fault as ContentFault).path, text).toBe(path);
  expect((fault as ContentFault).reason, text).toMatch(reason);
}

describe("a field of a body", () => {
  it("is read by its type", () => {
    check("{}", {});
    check('{"name":"a","flag":true}', { name: "a", flag: true });
    check('{"small":-2147483648,"unsigned":4294967295,"fixed":0}', { small: -2147483648, unsigned: 4294967295 });
    check('{"data":"AQID/w=="}', { data: new Uint8Array([1, 2, 3, 255]) });
    check('{"data":"_-8"}', { data: new Uint8Array([255, 239]) });
    check('{"colour":"dark_blue","maybeColour":"red"}', { colour: Colour.DARK_BLUE, maybeColour: Colour.RED });
    check('{"ratio":1.5,"exact":-1e-300}', { ratio: 1.5, exact: -1e-300 });
    check('{"ratio":"NaN","exact":"-Infinity"}', { ratio: Number.NaN, exact: -Infinity });
    check('{"exact":-0}', { exact: -0 });
    check('{"maybe":0,"maybeText":""}', { maybe: 0n, maybeText: "" });
    check('{"asText":9007199254740993}', { asText: "9007199254740993" });
  });

  it("is exact over all of int64 and uint64", () => {
    check('{"big":9223372036854775807}', { big: 9223372036854775807n });
    check('{"big":-9223372036854775808}', { big: -9223372036854775808n });
    check('{"huge":18446744073709551615}', { huge: 18446744073709551615n });
    check('{"zigzag":9.223372036854775807e18,"signedFixed":30e-1}', { zigzag: 9223372036854775807n, signedFixed: 3n });
    check('{"small":3.0,"big":-0}', { small: 3, big: 0n });
  });

  it("is known by its JSON name and its proto name", () => {
    check('{"signed_fixed":1,"maybe_text":"a"}', { signedFixed: 1n, maybeText: "a" });
    check('{"@custom":"a"}', { customName: "a" });
    check('{"custom_name":"a"}', { customName: "a" });
    check('{"customName":"a"}', {});
  });

  it("may be a list, a map or a message", () => {
    check('{"texts":["a",""],"bigs":[1,9007199254740993],"colours":["red","red"]}', {
      texts: ["a", ""],
      bigs: [1n, 9007199254740993n],
      colours: [Colour.RED, Colour.RED],
    });
    check('{"counts":{"a":1},"names":{"-5":"b"},"painted":{"true":"red"},"shapes":{"x":{"name":"y"}}}', {
      counts: { a: 1n },
      names: { "-5": "b" },
      painted: { true: Colour.RED },
      shapes: { x: { name: "y" } },
    });
    check('{"child":{"child":{"big":7}},"children":[{},{"name":"a"}]}', {
      child: { child: { big: 7n } },
      children: [{}, { name: "a" }],
    });
    check('{"texts":[],"counts":{}}', {});
  });

  it("may be in a oneof", () => {
    check('{"bigChoice":9007199254740993}', { choice: { case: "bigChoice", value: 9007199254740993n } });
    check('{"shapeChoice":{"name":"a"}}', { choice: { case: "shapeChoice", value: { name: "a" } } });
    check('{"wrappedChoice":"a"}', { choice: { case: "wrappedChoice", value: { value: "a" } } });
    check('{"nullChoice":null}', { choice: { case: "nullChoice", value: 0 } });
  });

  it("may be a well-known type", () => {
    check('{"time":"2026-02-28T23:59:59.000000001Z"}', { time: { seconds: 1772323199n, nanos: 1 } });
    check('{"time":"2026-03-01T01:00:00.5+01:00"}', { time: { seconds: 1772323200n, nanos: 500_000_000 } });
    check('{"time":"1969-12-31T23:59:59.5Z"}', { time: { seconds: -1n, nanos: 500_000_000 } });
    check('{"span":"1.5s"}', { span: { seconds: 1n, nanos: 500_000_000 } });
    check('{"span":"-0.000000001s"}', { span: { seconds: 0n, nanos: -1 } });
    check(`{"span":"${"0".repeat(20)}5s"}`, { span: { seconds: 5n } });
    check('{"mask":"name,child.bigChoice"}', { mask: { paths: ["name", "child.big_choice"] } });
    check('{"wrappedText":"","wrappedBig":9007199254740993,"wrappedFlag":false}', {
      wrappedText: "",
      wrappedBig: 9007199254740993n,
      wrappedFlag: false,
    });
    check('{"wrappedDouble":"NaN","wrappedData":"AQ"}', {
      wrappedDouble: Number.NaN,
      wrappedData: new Uint8Array([1]),
    });
    check('{"wrappedBigs":[1,2]}', { wrappedBigs: [{ value: 1n }, { value: 2n }] });
    check('{"times":["1970-01-01T00:00:00Z"],"empty":{"x":1}}', { times: [{}], empty: {} });
  });

  it("may be any JSON, with doubles for numbers", () => {
    const json = '{"a":[1.0,null,"x",true,{"b":9007199254740993}]}';
    const plain = { a: [1, null, "x", true, { b: 9007199254740992 }] };
    check(`{"object":${json},"objects":[${json}],"objectMap":{"m":${json}}}`, {
      object: plain,
      objects: [plain],
      objectMap: { m: plain },
    });
    check('{"value":null}', { value: { kind: { case: "nullValue", value: 0 } } });
    check('{"value":3.0}', { value: { kind: { case: "numberValue", value: 3 } } });
    check('{"list":[1e2]}', { list: { values: [{ kind: { case: "numberValue", value: 100 } }] } });
  });

  it("may be an Any of a type that the registry knows", () => {
    const shape = anyPack(ShapeSchema, create(ShapeSchema, { big: 9007199254740993n, colour: Colour.RED }));
    check('{"any":{"@type":"type.googleapis.com/shapes.v1.Shape","big":9007199254740993,"colour":"red"}}', {
      any: shape,
    });
    const time = anyPack(TimestampSchema, create(TimestampSchema, { seconds: 1n }));
    check('{"any":{"@type":"type.googleapis.com/google.protobuf.Timestamp","value":"1970-01-01T00:00:01Z"}}', {
      any: time,
    });
    check('{"any":{}}', { any: {} });
    checkFault('{"any":{"@type":"type.googleapis.com/a.B"}}', "any", "@type");
    checkFault('{"any":{"@type":7}}', "any", "@type");
    checkFault('{"any":{"@type":"x/shapes.v1.Shape","big":"7"}}', "any.big", "64-bit");
    checkFault('{"any":{"@type":"x/google.protobuf.Timestamp","value":7}}', "any.value", "string");
  });
});

describe("what is not known", () => {
  it("is ignored", () => {
    check('{"unknown":{"a":[1]},"name":"a"}', { name: "a" });
    check('{"__proto__":{"name":"b"},"constructor":1,"toString":2}', {});
    expect(({} as Record<string, unknown>).name).toBeUndefined();
  });

  it("is kept as a key of a map, whatever its name", () => {
    const message = read('{"counts":{"__proto__":1,"constructor":2},"object":{"__proto__":3.0}}') as unknown as {
      counts: object;
      object: object;
    };
    expect(Object.entries(message.counts)).toEqual([
      ["__proto__", 1n],
      ["constructor", 2n],
    ]);
    expect(Object.entries(message.object)).toEqual([["__proto__", 3]]);
  });
});

it("reads a message without the fields at some paths, which are unknown then", () => {
  const text = '{"name":5,"signed_fixed":"x","child":{"name":5,"small":1,"child":{"name":"a","small":"x"}}}';
  const without = ["name", "signed_fixed", "child.name", "child.child.small"];
  const message = readers.message(ShapeSchema, without)(parseJson(new TextEncoder().encode(text)));
  expect(message).toEqual(create(ShapeSchema, { child: { small: 1, child: { name: "a" } } }));
  checkFault(text, "name", "must be a string");
});

describe("a wrong value", () => {
  it("is refused with its path", () => {
    for (const value of ["3.5", '"3"', "true", "null", "[3]", "{}", "9223372036854775808", "1e400", "1e999999999"]) {
      checkFault(
        `{"big":${value}}`,
        "big",
        /^must be a 64-bit integer, from -9223372036854775808 to .*, without quotes$/,
      );
    }
    checkFault('{"small":2147483648}', "small", "32-bit integer, from -2147483648 to 2147483647");
    checkFault('{"unsigned":-1}', "unsigned", "32-bit integer, from 0 to 4294967295");
    checkFault('{"child":{"children":[{},{"big":"7"}]}}', "child.children[1].big", "64-bit");
    checkFault('{"bigs":[1,"2"]}', "bigs[1]", "64-bit");
    checkFault('{"shapes":{"a":{"big":1.5}}}', "shapes.a.big", "64-bit");
    checkFault('{"shapes":{"\\u00e9 ":{"big":1.5}}}', "shapes.*.big", "64-bit");
  });

  it("is refused by the type of its field", () => {
    checkFault("[]", "", "must be an object");
    checkFault("null", "", "must be an object");
    checkFault("1.0", "", "must be an object");
    checkFault('{"name":1}', "name", "must be a string");
    checkFault('{"name":null}', "name", "must be a string");
    checkFault('{"flag":"true"}', "flag", "true or false");
    checkFault('{"data":"a"}', "data", "base64");
    checkFault('{"data":"a b="}', "data", "base64");
    checkFault('{"texts":"a"}', "texts", "must be an array");
    checkFault('{"texts":null}', "texts", "must be an array");
    checkFault('{"texts":[null]}', "texts[0]", "must be a string");
    checkFault('{"counts":[]}', "counts", "must be an object");
    checkFault('{"names":{"01":"a"}}', "names.01", "decimal");
    checkFault('{"painted":{"yes":"red"}}', "painted.yes", "true or false");
    checkFault('{"child":[]}', "child", "must be an object");
    checkFault('{"child":3.0}', "child", "must be an object");
    checkFault('{"ratio":1e39}', "ratio", "number");
    checkFault('{"exact":1e400}', "exact", "number");
    checkFault('{"exact":"1.5"}', "exact", "number");
    checkFault('{"object":[]}', "object", "must be an object");
    checkFault('{"object":{"a":[1e400]}}', "object.a[0]", "double");
    checkFault('{"list":{}}', "list", "must be an array");
    checkFault('{"wrappedBig":"1"}', "wrappedBig", "64-bit");
    checkFault('{"nullChoice":0}', "nullChoice", "must be one of null_value");
  });

  it("is refused when it is no name of its enum", () => {
    for (const value of ['"RED"', '"COLOUR_RED"', '"Red"', '"__proto__"', "1", "null", '"1"']) {
      checkFault(`{"colour":${value}}`, "colour", /^must be one of red, dark_blue$/);
    }
  });

  it("is refused when it is no time, duration or mask", () => {
    for (const text of [
      "2026-02-30T00:00:00Z",
      "2026-01-01",
      "2026-01-01T00:00:00",
      "0000-01-01T00:00:00Z",
      "2026-01-31T24:00:00Z",
      "2026-01-31T23:60:00Z",
      "x",
      "",
    ]) {
      checkFault(`{"time":"${text}"}`, "time", "must be a time");
    }
    for (const text of ["1", "1.0000000001s", "1sx", "s", "+1s", "999999999999s", ""]) {
      checkFault(`{"span":"${text}"}`, "span", "must be a duration");
    }
    checkFault('{"mask":"a_b"}', "mask", "lowerCamelCase");
    checkFault('{"time":1}', "time", "must be a string");
  });

  it("is refused when its oneof has another", () => {
    checkFault('{"textChoice":"a","bigChoice":1}', "bigChoice", "together with another of textChoice, bigChoice");
  });

  it("is refused when it has the field under both names", () => {
    checkFault('{"signedFixed":1,"signed_fixed":2}', "signed_fixed", "must not be given together with signedFixed,");
    checkFault('{"signed_fixed":2,"signedFixed":1}', "signed_fixed", "must not be given together with signedFixed,");
    checkFault('{"textChoice":"a","text_choice":"b"}', "text_choice", "must not be given together with textChoice,");
  });
});

describe("the policy of ProtoJSON", () => {
  const readers = new JsonReaders(protoJson, registry);

  it("takes quoted numbers, and enums by their full names", () => {
    check('{"big":"9223372036854775807","small":"7"}', { big: 9223372036854775807n, small: 7 }, readers);
    check('{"big":7,"exact":"1.5"}', { big: 7n, exact: 1.5 }, readers);
    check('{"colour":"COLOUR_RED"}', { colour: Colour.RED }, readers);
    check('{"colour":1,"colours":[1,99,-3.0]}', { colour: 1, colours: [1, 99 as Colour, -3 as Colour] }, readers);
    for (const value of ['"1"', "1.5", "2147483648", '"RED"']) {
      checkFault(`{"colour":${value}}`, "colour", "must be one of", readers);
    }
    checkFault('{"big":""}', "big", "64-bit", readers);
    checkFault('{"big":" 7"}', "big", "64-bit", readers);
  });

  it("names a field in a fault as the proto does", () => {
    checkFault('{"signedFixed":"x"}', "signed_fixed", "64-bit", readers);
    checkFault('{"signed_fixed":"x"}', "signed_fixed", "64-bit", readers);
  });
});

it("reads whole well-known types and proto2 messages", () => {
  expect(read('{"a":1}', ValueSchema)).toMatchObject({ kind: { case: "structValue" } });
  expect(read('{"count":0,"numbers":[1]}', LegacySchema)).toEqual(create(LegacySchema, { count: 0n, numbers: [1] }));
});

it("reads a megabyte of base64", () => {
  const data = "A".repeat(1_000_000);
  expect((read(`{"data":"${data}"}`) as unknown as { data: Uint8Array }).data).toHaveLength(750_000);
});

it("refuses a policy that gives one name to two values", () => {
  const poor = new JsonReaders({ ...policy, enumName: () => "same" }, undefined);
  expect(() => poor.message(ShapeSchema)).toThrow('gives the name "same" to two values of shapes.v1.Colour');
});
