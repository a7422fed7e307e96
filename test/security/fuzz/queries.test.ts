import { type DescMessage, equals } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ListInventoryRequestSchema } from "../../../gen/petstore/v1/inventory_service_pb.ts";
import { decodeQueryName, decodeQueryText, QueryFieldSets, readQuery, splitQuery } from "../../../src/gateway/url.ts";
import { ContentFault } from "../../../src/proto-json/content-fault.ts";
import { createFields, type Fields } from "../../../src/proto-json/fields.ts";
import type { JsonPolicy } from "../../../src/proto-json/json-policy.ts";
import { restJson } from "../../../src/server/rest-json.ts";
import { policy } from "../../gateway/fixture.ts";
import { ShapeSchema } from "../../gateway/gen/shapes/v1/shapes_pb.ts";
import { fuzz } from "./cases.ts";
import { maxHeaderLength, mutated } from "./mutate.ts";
import { expectQuick } from "./quick.ts";
import { refusalOf } from "./refusal.ts";
import { numberTokens, prototypeTokens, unicodeTokens, urlTokens } from "./tokens.ts";

describe("a query", () => {
  check("of a list", { usual: 2_000, long: 80_000 }, { desc: ListInventoryRequestSchema, json: restJson }, [
    "pageSize=2&pageToken=AcbWj_8AAAAAAAAABw&status=sold&status=pending",
    "page_size=10000&status=available&x=y",
    "st%61tus=sold&pageToken=a+b%20c",
  ]);
  check("of every shape", { usual: 1_000, long: 40_000 }, { desc: ShapeSchema, json: policy }, [
    "name=a+b&small=-1&big=9223372036854775807&flag=true&data=AP8&exact=-1e-300&colour=red&maybe=0&maybeText",
    "texts=a&texts=&bigs=1&bigs=-1&colours=red&child.child.name=x&%40custom=c&asText=5&textChoice=t",
    "time=2026-01-01T00:00:00Z&span=-1.5s&mask=name,child.big&wrappedBig=1&wrappedFlag=false&wrappedDouble=NaN",
  ]);

  interface Kind {
    readonly desc: DescMessage;
    readonly json: JsonPolicy;
  }

  function check(which: string, count: { usual: number; long: number }, { desc, json }: Kind, corpus: string[]): void {
    const tokens = [
      ...urlTokens,
      ...numberTokens,
      ...unicodeTokens,
      ...prototypeTokens,
      ...corpus.join("&").split(/[&=]/),
    ];
    const fields = new QueryFieldSets(json).message(desc);
    const read = (query: string): Fields => {
      const message = createFields(desc);
      readQuery(query, fields, new Set(["small"]), message);
      return message;
    };

    fuzz(`${which} is refused, or means the same however it is encoded`, count, (random, refused) => {
      const query = mutated(random, { tokens, corpus, maxLength: maxHeaderLength });
      const refusal = refusalOf(() => read(query));
      if (refusal !== undefined) {
        refused();
        expect(refusal).toBeInstanceOf(ContentFault);
        return;
      }
      const message = read(query);
      expect(equals(desc, read(encodedAnew(query)) as never, message as never) || hasNotANumber(query)).toBe(true);
    });
  }

  /** Every character of names and values is encoded that need be; what cannot be decoded has not been looked at. */
  function encodedAnew(query: string): string {
    return splitQuery(query)
      .filter(({ name }) => decodeQueryName(name) !== undefined)
      .filter(({ value }) => refusalOf(() => decodeQueryText(value)) === undefined)
      .map(({ name, value }) => `${encode(decodeQueryText(name))}=${encode(decodeQueryText(value))}`)
      .join("&");
  }

  function encode(text: string): string {
    return encodeURIComponent(text).replaceAll(/[a-z]/gi, (letter, at, whole) =>
      whole[at - 1] === "%" || whole[at - 2] === "%" ? letter : `%${letter.charCodeAt(0).toString(16)}`,
    );
  }

  /** Which is not the same as itself. */
  function hasNotANumber(query: string): boolean {
    return query.includes("NaN");
  }

  it.each(["%&", "%ff&", "%e9x&", "\u00e9=%&", "a&", "&", "status&x=%ff&"])(
    "of nothing but %j is read at once",
    async (part) => {
      const query = part.repeat(65_536 / part.length);
      const fields = new QueryFieldSets(restJson).message(ListInventoryRequestSchema);
      const read = () => readQuery(query, fields, new Set(), createFields(ListInventoryRequestSchema));
      await expectQuick(() => refusalOf(read));
    },
  );
});
