import { create, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { QueryFieldSets, readQuery } from "../../src/gateway/url.ts";
import { ContentFault } from "../../src/proto-json/content-fault.ts";
import type { Fields } from "../../src/proto-json/fields.ts";
import { protoJson } from "../../src/proto-json/json-policy.ts";
import { policy } from "./fixture.ts";
import { Colour, type Shape, ShapeSchema } from "./gen/shapes/v1/shapes_pb.ts";

const fields = new QueryFieldSets(policy).message(ShapeSchema);

function read(query: string, bound: readonly string[] = []): Shape {
  const message = create(ShapeSchema);
  readQuery(query, fields, new Set(bound), message as unknown as Fields);
  return message;
}

function check(query: string, expected: MessageInitShape<typeof ShapeSchema>, bound?: readonly string[]): void {
  expect(read(query, bound), query).toEqual(create(ShapeSchema, expected));
}

function checkFault(query: string, path: string, reason: string): void {
  try {
    read(query);
  } catch (error) {
    expect(error).toBeInstanceOf(ContentFault);
    expect([(error as ContentFault).path, (error as ContentFault).reason]).toEqual([
      path,
      expect.stringContaining(reason),
    ]);
    return;
  }
  expect.unreachable(`${query} was taken`);
}

it("sets an enum by its number, where the policy takes numbers, and a float that is written with few digits", () => {
  const message = create(ShapeSchema);
  const protoJsonFields = new QueryFieldSets(protoJson).message(ShapeSchema);
  const few = "ratio=3.4028235e%2B38";
  readQuery(`colour=1&colours=COLOUR_RED&colours=99&colours=-3&${few}`, protoJsonFields, new Set(), message as never);
  expect(message).toEqual(
    create(ShapeSchema, { colour: 1, colours: [1, 99 as Colour, -3 as Colour], ratio: 2 ** 128 - 2 ** 104 }),
  );
  for (const text of ["01", "+1", "1.0", "2147483648", ""]) {
    expect(() => readQuery(`colour=${text}`, protoJsonFields, new Set(), message as never)).toThrow("must be one of");
  }
  checkFault("ratio=3.4028236e38", "ratio", "from -3.4028234663852886e+38 to 3.4028234663852886e+38");
});

it("tells the bounds that the rules of a field leave", () => {
  const bounded = new QueryFieldSets({ ...policy, bounds: () => ({ min: 1n }) }).message(ShapeSchema);
  const read = () => readQuery("small=99999999999", bounded, new Set(), create(ShapeSchema) as never);
  expect(read).toThrow("must be a 32-bit integer, from 1 to 2147483647, in plain decimal");
});

describe("a query parameter", () => {
  it("sets a field by its JSON name or its proto name", () => {
    check("name=a&signedFixed=-5", { name: "a", signedFixed: -5n });
    check("signed_fixed=1&%40custom=x", { signedFixed: 1n, customName: "x" });
    check("n%61me=a", { name: "a" });
    check("maybe=0&maybeText=", { maybe: 0n, maybeText: "" });
    check("maybeText", { maybeText: "" });
    check("&&name=a&", { name: "a" });
    check("name=a=b", { name: "a=b" });
    check("", {});
  });

  it("is percent-decoded, a plus sign being a space", () => {
    check("name=a+b%2Bc%20d%C3%A9", { name: "a b+c d\u00e9" });
    checkFault("name=%", "name", "percent-encoded");
    checkFault("name=%C3", "name", "percent-encoded UTF-8");
    checkFault("name=%ED%A0%80", "name", "percent-encoded UTF-8");
    checkFault("name=\u00e9", "name", "percent-encoded");
  });

  it("may be of every scalar type and of an enum", () => {
    check("small=-7&unsigned=7&big=9223372036854775807&huge=18446744073709551615", {
      small: -7,
      unsigned: 7,
      big: 9223372036854775807n,
      huge: 18446744073709551615n,
    });
    check("flag=true&data=_-8&ratio=1.5&exact=-1e-5", {
      flag: true,
      data: new Uint8Array([255, 239]),
      ratio: 1.5,
      exact: -1e-5,
    });
    check("exact=NaN&ratio=-Infinity", { exact: Number.NaN, ratio: -Infinity });
    check("colour=dark_blue&asText=7", { colour: Colour.DARK_BLUE, asText: "7" });
  });

  it("may be a wrapper, a time, a duration or a mask", () => {
    check("wrappedText=&wrappedBig=7&wrappedFlag=false", { wrappedText: "", wrappedBig: 7n, wrappedFlag: false });
    check("time=1970-01-01T00:00:01Z&span=1.5s", { time: { seconds: 1n }, span: { seconds: 1n, nanos: 500_000_000 } });
    check("mask=name,child.bigChoice", { mask: { paths: ["name", "child.big_choice"] } });
    check("wrappedChoice=a", { choice: { case: "wrappedChoice", value: { value: "a" } } });
    check("wrappedBigs=1&wrappedBigs=2", { wrappedBigs: [{ value: 1n }, { value: 2n }] });
  });

  it("may be repeated for a list", () => {
    check("texts=a&big=1&texts=&texts=c", { texts: ["a", "", "c"], big: 1n });
    check("colours=red&colours=red", { colours: [Colour.RED, Colour.RED] });
    check("texts=a,b", { texts: ["a,b"] });
  });

  it("reaches into messages by dots", () => {
    check("child.name=a&child.child.big=1&child.texts=x&child.texts=y", {
      child: { name: "a", child: { big: 1n }, texts: ["x", "y"] },
    });
    check("shapeChoice.name=a&shape_choice.big=1", { choice: { case: "shapeChoice", value: { name: "a", big: 1n } } });
  });

  it("is ignored when it names no field, however it is encoded", () => {
    check("unknown=1&child.unknown=1&name.x=1&time.seconds=1&__proto__=1&constructor.name=1&=&.=1&name.=1&.name=1", {});
    check("%=1&%C3=1&unknown=%", {});
    check(`${"child.".repeat(500)}name=a`, {});
  });

  it("is ignored when its field comes from the path or the body", () => {
    check("name=a&big=1", { big: 1n }, ["name"]);
    check("child.name=a&child.big=1", { child: { big: 1n } }, ["child.name"]);
    check("child.name=a&child.child.big=1", {}, ["child"]);
  });

  it("is refused when its value is wrong", () => {
    for (const value of ["abc", "7.0", "+7", "%2B7", "07", "-0", "9223372036854775808", "", "1e3", "0x1", "%D9%A1"]) {
      checkFault(`big=${value}`, "big", "64-bit integer");
    }
    checkFault("small=2147483648", "small", "32-bit integer");
    checkFault("flag=1", "flag", "true or false");
    checkFault("exact=1e400", "exact", "number");
    checkFault("data=!", "data", "base64");
    checkFault("time=now", "time", "time");
    for (const value of ["RED", "1", "", "green"]) {
      checkFault(`colours=red&colours=${value}`, "colours", "must be one of red, dark_blue");
    }
    checkFault("child.big=x", "child.big", "64-bit");
  });

  it("is refused under both names", () => {
    checkFault("signedFixed=1&signed_fixed=1", "signed_fixed", "together with signedFixed, which is the same field");
    checkFault("signed_fixed=1&signedFixed=1", "signedFixed", "together with signed_fixed, which is the same field");
    checkFault("child.signedFixed=1&child.signed_fixed=1", "child.signed_fixed", "together with child.signedFixed,");
  });

  it("is refused a second time", () => {
    checkFault("name=a&name=a", "name", "only once");
    checkFault("child.name=a&child.name=b", "child.name", "only once");
    checkFault("wrappedBig=1&wrappedBig=2", "wrappedBig", "only once");
  });

  it("is refused when its oneof has another", () => {
    checkFault("textChoice=a&bigChoice=1", "bigChoice", "together");
    checkFault("textChoice=a&shapeChoice.name=1", "shapeChoice.name", "together");
  });

  it("is refused when a query cannot set its field", () => {
    checkFault("child=a", "child", "field by field");
    for (const name of ["counts", "children", "object", "value", "list", "any", "empty", "objects"]) {
      checkFault(`${name}=a`, name, "cannot be given in a query");
    }
  });
});

it("reads back every text, in any encoding", () => {
  const encodings = [encodeURIComponent, (text: string) => new URLSearchParams({ name: text }).toString().slice(5)];
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.constantFrom(...encodings), (text, encode) => {
      expect(read(`name=${encode(text)}`).name).toBe(text);
    }),
  );
});

it("answers any query with a message or a ContentFault", () => {
  const query = fc.string({ unit: fc.constantFrom(..."&=.%+,name child texts big 12 CE".split("")), maxLength: 30 });
  fc.assert(
    fc.property(query, (text) => {
      try {
        read(text);
      } catch (error) {
        expect(error).toBeInstanceOf(ContentFault);
      }
    }),
    { numRuns: 2_000 },
  );
});
