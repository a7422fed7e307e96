import { type DescMessage, equals, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";
import { describe, expect } from "vitest";
import { InventoryUpdateSchema } from "../../../gen/petstore/v1/inventory_pb.ts";
import {
  ListInventoryRequestSchema,
  UpdateInventoryRequestSchema,
} from "../../../gen/petstore/v1/inventory_service_pb.ts";
import { GetPetRequestSchema } from "../../../gen/petstore/v1/pet_service_pb.ts";
import { ListOrdersRequestSchema } from "../../../gen/petstore/v1/store_service_pb.ts";
import { JsonNumber } from "../../../src/exact-json/number.ts";
import { JsonFault, parseJson } from "../../../src/exact-json/parse.ts";
import { ContentFault } from "../../../src/proto-json/content-fault.ts";
import { protoJson } from "../../../src/proto-json/json-policy.ts";
import { JsonReaders } from "../../../src/proto-json/json-reader.ts";
import { JsonWriters } from "../../../src/proto-json/json-writer.ts";
import { createJsonCodec } from "../../../src/rpc/codec.ts";
import { restJson } from "../../../src/server/rest-json.ts";
import { policy, registry } from "../../gateway/fixture.ts";
import { ShapeSchema } from "../../gateway/gen/shapes/v1/shapes_pb.ts";
import type { Random } from "../../support/random.ts";
import { fuzz } from "./cases.ts";
import { type Material, mutated } from "./mutate.ts";
import { expectMalformed, refusalOf } from "./refusal.ts";
import { gatewayShapes, protoJsonShapes, requestJson, restShapes, updates } from "./samples.ts";
import { jsonTokens, numberTokens, prototypeTokens, unicodeTokens } from "./tokens.ts";

const tokens = [...jsonTokens, ...numberTokens, ...prototypeTokens, ...unicodeTokens];
const jsonCodec = createJsonCodec(registry);
const anyJson: Material = { tokens, corpus: [...updates, ...requestJson, ...restShapes] };

/** The bytes of a text; rarely they are not UTF-8. */
function bytesOf(random: Random, text: string): Uint8Array {
  return random.oneIn(20) ? Buffer.from(text, "latin1") : Buffer.from(text);
}

describe("a JSON text", () => {
  fuzz("is parsed as JSON.parse does, or refused", { usual: 2_000, long: 130_000 }, (random, refused) => {
    const bytes = bytesOf(random, mutated(random, anyJson));
    const refusal = refusalOf(() => parseJson(bytes));
    if (refusal !== undefined) {
      refused();
      expect(refusal).toBeInstanceOf(JsonFault);
      return;
    }
    const expected: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (JSON.stringify(withDoubles(parseJson(bytes))) !== JSON.stringify(expected)) {
      expect(parseJson(bytes)).toEqual(expected);
    }
  });

  function withDoubles(json: unknown): unknown {
    if (json instanceof JsonNumber) {
      return Number(json.source);
    }
    if (Array.isArray(json)) {
      return json.map(withDoubles);
    }
    return typeof json === "object" && json !== null
      ? Object.fromEntries(Object.entries(json).map(([name, value]) => [name, withDoubles(value)]))
      : json;
  }
});

describe("a body of REST", () => {
  checkBodies(
    "of an update",
    { usual: 2_000, long: 130_000 },
    { desc: InventoryUpdateSchema, corpus: updates, policy: restJson },
  );
  checkBodies("of every shape", { usual: 1_000, long: 25_000 }, { desc: ShapeSchema, corpus: restShapes, policy });
  checkBodies(
    "of every shape, as ProtoJSON",
    { usual: 1_000, long: 25_000 },
    { desc: ShapeSchema, corpus: gatewayShapes, policy: protoJson },
  );

  interface Bodies {
    readonly desc: DescMessage;
    readonly corpus: readonly string[];
    readonly policy: typeof restJson;
  }

  function checkBodies(which: string, count: { usual: number; long: number }, { desc, corpus, policy }: Bodies): void {
    const read = new JsonReaders(policy, registry).message(desc);
    const write = new JsonWriters(policy, registry).message(desc);
    fuzz(`${which} is refused, or reads back from what is written of it`, count, (random, refused) => {
      const bytes = bytesOf(random, mutated(random, { tokens, corpus }));
      let message: unknown;
      const refusal = refusalOf(() => {
        message = read(parseJson(bytes));
      });
      if (refusal !== undefined) {
        refused();
        expect(refusal instanceof ContentFault || refusal instanceof JsonFault).toBe(true);
        return;
      }
      const again = read(parseJson(Buffer.from(write(message))));
      expectSame(desc, again as Message, message as Message);
    });
  }
});

describe("a message in ProtoJSON", () => {
  const requests = [
    UpdateInventoryRequestSchema,
    ListInventoryRequestSchema,
    GetPetRequestSchema,
    ListOrdersRequestSchema,
  ];

  checkMessages("of a request", { usual: 2_000, long: 100_000 }, { descs: requests, corpus: requestJson });
  checkMessages("of every shape", { usual: 500, long: 25_000 }, { descs: [ShapeSchema], corpus: protoJsonShapes });

  interface Messages {
    readonly descs: readonly DescMessage[];
    readonly corpus: readonly string[];
  }

  function checkMessages(which: string, count: { usual: number; long: number }, { descs, corpus }: Messages): void {
    fuzz(`${which} is malformed, or reads back from what is written of it`, count, (random, refused) => {
      const desc = random.pick(descs);
      const bytes = bytesOf(random, mutated(random, { tokens, corpus }));
      const refusal = refusalOf(() => jsonCodec.decode(desc, bytes));
      if (refusal !== undefined) {
        refused();
        expectMalformed(refusal);
        return;
      }
      const message = jsonCodec.decode(desc, bytes);
      // The library writes -0 as 0, and leaves it out where it leaves out 0.
      const write = (value: Message) => toJsonString(desc, value, { alwaysEmitImplicit: true, registry });
      const again = jsonCodec.decode(desc, Buffer.from(write(message)));
      expect(write(again)).toBe(write(message));
    });
  }
});

/** Not a number is no less the same when it is the same bytes. */
function expectSame(desc: DescMessage, actual: Message, expected: Message): void {
  if (!equals(desc, actual, expected)) {
    expect(toBinary(desc, actual)).toEqual(toBinary(desc, expected));
  }
}
