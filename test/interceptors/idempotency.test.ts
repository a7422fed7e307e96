import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { Idempotency } from "../../src/domain/idempotency.ts";
import { idempotencyInterceptor, idempotencyKey, parseIdempotencyKey } from "../../src/interceptors/idempotency.ts";
import type { Call, CallHandler } from "../../src/rpc/call.ts";
import type { UnaryEndpoint } from "../../src/rpc/endpoint.ts";

const { adjustInventory, batchUpdateInventory, getInventory, updateInventory } = InventoryService.method;
const long = "k".repeat(255);

describe("an idempotency key", () => {
  it.each<[line: string, key: string]>([
    ["a", "a"],
    [long, long],
    [`"${long}"`, long],
    ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', "8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ["!~", "!~"],
    ["a,b", "a,b"],
    ["a\\b", "a\\b"],
    ['a"b', 'a"b'],
    ['"a\\"b"', 'a"b'],
    ['"a\\\\b"', "a\\b"],
    [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  ])("of the line %s is %s", (line, key) => {
    expect(parseIdempotencyKey([line])).toBe(key);
  });

  it.each<[lines: string[]]>([
    [[""]],
    [['""']],
    [['"']],
    [['"a']],
    [['a"', "b"]],
    [['"a"b']],
    [['"a"b"']],
    [['"a\\"']],
    [['"a\\b"']],
    [['"a";v=1']],
    [["a b"]],
    [['"a b"']],
    [["a\tb"]],
    [["a\n"]],
    [["a\x7f"]],
    [["ä"]],
    [[`${long}k`]],
    [[`"${long}k"`]],
    [["a", "a"]],
    [['"a"', '"a"']],
  ])("is not %j", (lines) => {
    expect(() => parseIdempotencyKey(lines)).toThrow(
      expect.objectContaining({
        code: "INVALID_REQUEST",
        message: expect.stringMatching(/^Idempotency-Key: must be /),
      }),
    );
  });
});

type Method = UnaryEndpoint["method"];

/** What the interceptor leaves for the implementation of a method. */
async function leaves(
  method: Method,
  message: MessageShape<DescMessage>,
  lines: readonly string[] = ["k"],
): Promise<Idempotency | undefined> {
  let left: Idempotency | undefined;
  const values = new Map<unknown, unknown>();
  const call = { message, headerSource: { headerLines: () => lines }, contextValues: values } as unknown as Call;
  const last: CallHandler = async (at) => {
    left = (at.contextValues as unknown as typeof values).get(idempotencyKey) as Idempotency | undefined;
    return { stream: false, header: new Headers(), trailer: new Headers(), message };
  };
  await idempotencyInterceptor.wrap(last, method)(call);
  return left;
}

async function fingerprint(method: Method, init: Record<string, unknown>): Promise<string> {
  const left = await leaves(method, create(method.input, init));
  expect(left?.key).toBe("k");
  return left?.fingerprint as string;
}

describe("the fingerprint of a request", () => {
  const update = { petId: 7n, update: { quantity: 5n } };

  it("is that of the same content", async () => {
    expect(await fingerprint(updateInventory, update)).toBe(await fingerprint(updateInventory, update));
    expect(await fingerprint(updateInventory, update)).toMatch(/^[0-9a-f]{64}$/);
  });

  it("leaves out what a header carries", async () => {
    expect(await fingerprint(updateInventory, { ...update, etag: '"17"' })).toBe(
      await fingerprint(updateInventory, update),
    );
  });

  it("holds an etag in the content", async () => {
    const change = { petId: 7n, quantity: 5n };
    expect(await fingerprint(batchUpdateInventory, { changes: [{ ...change, etag: '"17"' }] })).not.toBe(
      await fingerprint(batchUpdateInventory, { changes: [change] }),
    );
  });

  it.each<[other: string, method: Method, init: Record<string, unknown>]>([
    ["resource", updateInventory, { ...update, petId: 8n }],
    ["quantity", updateInventory, { petId: 7n, update: { quantity: 6n } }],
    ["reason", updateInventory, { petId: 7n, update: { quantity: 5n, reason: "" } }],
    ["method", adjustInventory, { petId: 7n, adjustment: { delta: 5n } }],
  ])("differs with another %s", async (_other, method, init) => {
    expect(await fingerprint(method, init)).not.toBe(await fingerprint(updateInventory, update));
  });

  it("leaves the message as it was", async () => {
    const message = create(updateInventory.input, { ...update, etag: '"17"' });
    await leaves(updateInventory, message);
    expect(message).toEqual(create(updateInventory.input, { ...update, etag: '"17"' }));
  });
});

it("leaves nothing where no key is sent", async () => {
  expect(await leaves(updateInventory, create(updateInventory.input), [])).toBeUndefined();
});

it("ignores the key of a method that takes none, whatever it is", async () => {
  expect(await leaves(getInventory, create(getInventory.input), ["", ""])).toBeUndefined();
});
