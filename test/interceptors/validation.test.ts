import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "vitest";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { type DomainError, invalidRequest, petNotFound } from "../../src/domain/errors.ts";
import { createValidation } from "../../src/interceptors/validation.ts";
import type { Call } from "../../src/rpc/call.ts";
import type { UnaryEndpoint } from "../../src/rpc/endpoint.ts";

const { batchUpdateInventory, listInventory, updateInventory } = InventoryService.method;
const validation = createValidation([batchUpdateInventory.input, listInventory.input, updateInventory.input]);

beforeAll(async () => {
  await validation.prepare();
});

/** What a call of a method fails with. `thrown` is what its implementation throws. */
async function fail<M extends UnaryEndpoint["method"]>(
  method: M,
  init: MessageInitShape<M["input"]>,
  { protocolName = "rest", thrown }: { protocolName?: string; thrown?: unknown } = {},
): Promise<DomainError> {
  const handle = validation.interceptor.wrap(() => Promise.reject(thrown), method);
  const call = { protocolName, method, message: create(method.input, init as never) };
  return await handle(call as unknown as Call).then(
    () => expect.unreachable(),
    (error) => error,
  );
}

const tenChanges = [{ petId: 7n }, { petId: 7n, delta: 0n }, { petId: 7n, quantity: 1n, etag: "W/" }, { quantity: 1n }];

describe("a violation is named", () => {
  it("by the field's JSON name over REST", async () => {
    const error = await fail(listInventory, { pageSize: 0 });
    expect(error.fieldViolations.map(({ field }) => field)).toEqual(["pageSize"]);
  });

  it("without the body's own name over REST", async () => {
    const error = await fail(updateInventory, { update: { quantity: 1n, reason: "r".repeat(65) } });
    expect(error.fieldViolations.map(({ field }) => field)).toEqual(["reason"]);
  });

  it("by its path in a list of messages over REST", async () => {
    const error = await fail(batchUpdateInventory, { changes: tenChanges });
    expect(error.fieldViolations.map(({ field }) => field)).toEqual([
      "changes[0]",
      "changes[1].delta",
      "changes[2].etag",
      "changes[3].petId",
    ]);
    expect(error.message).toContain("changes[1].delta: must not be 0");
  });

  it("by its path of proto names over RPC", async () => {
    const error = await fail(batchUpdateInventory, { changes: [{ quantity: 1n }] }, { protocolName: "grpc" });
    expect(error.fieldViolations.map(({ field }) => field)).toEqual(["changes[0].pet_id"]);
  });

  it("once for each of the first 20", async () => {
    const changes = Array.from({ length: 1_000 }, () => ({ petId: 7n, delta: 0n }));
    expect((await fail(batchUpdateInventory, { changes })).fieldViolations).toHaveLength(20);
  });
});

describe("a list of the wrong length is refused", () => {
  it.each([
    ["with none of one", [], "changes: must contain at least 1 item."],
    [
      "with one too many",
      Array.from({ length: 1_001 }, () => ({ petId: 7n, quantity: 1n })),
      "changes: must contain no more than 1000 items.",
    ],
  ])("%s", async (_how, changes, message) => {
    expect((await fail(batchUpdateInventory, { changes })).message).toBe(message);
  });
});

describe("a field violation that an implementation throws is named", () => {
  const thrown = invalidRequest("etag: must be a tag.", [{ field: "etag", description: "must be a tag" }]);
  const valid = { update: { quantity: 1n } };

  it("by its header over REST", async () => {
    const { message, fieldViolations } = await fail(updateInventory, valid, { thrown });
    expect(message).toBe("If-Match: must be a tag.");
    expect(fieldViolations).toEqual([{ field: "If-Match", description: "must be a tag" }]);
  });

  it("as it was thrown over RPC", async () => {
    expect(await fail(updateInventory, valid, { thrown, protocolName: "grpc" })).toBe(thrown);
  });

  it("as it was thrown where no header carries it", async () => {
    const inChange = invalidRequest("changes[0].etag: no.", [{ field: "changes[0].etag", description: "no" }]);
    expect(await fail(updateInventory, valid, { thrown: inChange })).toBe(inChange);
    const notFound = petNotFound(7n);
    expect(await fail(updateInventory, valid, { thrown: notFound })).toBe(notFound);
  });
});
