import {
  create,
  createRegistry,
  fromBinary,
  fromJsonString,
  type MessageShape,
  toJsonString,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ListOrdersResponseSchema } from "../../gen/petstore/v1/store_service_pb.ts";
import { binaryCodec, createJsonCodec, encodePrepared } from "../../src/rpc/codec.ts";
import { joinJson, PreparedMessage } from "../../src/rpc/prepared-message.ts";

type List = MessageShape<typeof ListOrdersResponseSchema>;

function listOf(ids: readonly bigint[]): List {
  return create(ListOrdersResponseSchema, { orders: ids.map((id) => ({ id, petId: -id, complete: id % 2n === 0n })) });
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

function inParts(parts: () => AsyncIterable<List>): PreparedMessage<List> {
  return new PreparedMessage({ parts, whole: () => Promise.reject(new Error("its parts are enough")) });
}

/** Parts are never empty. */
const idsOfParts = fc.array(fc.array(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 5,
});

describe("a message in parts", () => {
  it.each([
    ["binary", binaryCodec, (bytes: Uint8Array) => fromBinary(ListOrdersResponseSchema, bytes)],
    [
      "JSON",
      createJsonCodec(createRegistry()),
      (bytes: Uint8Array) => fromJsonString(ListOrdersResponseSchema, Buffer.from(bytes).toString()),
    ],
  ])("is read as the whole one: %s", (_name, codec, decode) =>
    fc.assert(
      fc.asyncProperty(idsOfParts, async (ids) => {
        const message = inParts(() => each(ids.map(listOf)));
        const bytes = await encodePrepared(codec, ListOrdersResponseSchema, message);
        expect(decode(bytes as Uint8Array)).toEqual(listOf(ids.flat()));
      }),
    ),
  );

  it("has the JSON of the whole one", async () => {
    const texts = [[1n], [2n, 3n]].map((ids) => toJsonString(ListOrdersResponseSchema, listOf(ids)));
    const joined = (await Array.fromAsync(joinJson(each(texts)))).join("");
    expect(joined).toBe(toJsonString(ListOrdersResponseSchema, listOf([1n, 2n, 3n])));
  });

  it("has the array of the whole one, where that is the JSON", async () => {
    expect((await Array.fromAsync(joinJson(each(['[{"tags":["a]"]}]', "[2,3]"])))).join("")).toBe(
      '[{"tags":["a]"]},2,3]',
    );
  });

  it("fails as its parts do", async () => {
    async function* failing(): AsyncGenerator<List> {
      yield listOf([1n]);
      throw new Error("the disk is gone");
    }
    const message = inParts(failing);
    await expect(encodePrepared(binaryCodec, ListOrdersResponseSchema, message)).rejects.toThrow("the disk is gone");
  });
});
