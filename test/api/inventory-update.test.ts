import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PetStatus } from "../../gen/petstore/v1/pet_status_pb.ts";
import { type Protocol, protocols } from "../support/clients/protocols.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectSuccess } from "../support/expectations.ts";
import { beyondDouble, int64Max, int64Min, pets } from "../support/fixture.ts";
import { createHttp1Client, type HttpClient } from "../support/http.ts";
import type { Input } from "../support/operations.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let key: MintedKey;

beforeAll(async () => {
  server = await startServer();
  key = await server.store.mintQuota(1_000_000, 1_000_000);
});

afterAll(() => server?.stop());

async function listItem(protocol: Protocol, petId: bigint) {
  const { items } = expectSuccess(await server.call(protocol, "listInventory", {}, { key: key.key }));
  expect(items).toHaveLength(pets.length);
  return items.find((item) => item.petId === petId);
}

describe.each(protocols)("over $name", (protocol) => {
  const update = (petId: bigint, quantity: bigint) =>
    server.call(protocol, "updateInventory", { petId, update: { quantity } }, { key: key.key });

  it.each([0n, 1n, -1n, 3n, 4_294_967_296n, beyondDouble, int64Max, int64Min])(
    "sets the quantity %s, which every later read sees",
    async (quantity) => {
      const item = { petId: 7n, quantity, status: PetStatus.PENDING };
      expect(expectSuccess(await update(7n, quantity))).toMatchObject({ item });
      expect(await listItem(protocol, 7n)).toMatchObject(item);
    },
  );

  it.each([
    [int64Max, PetStatus.PENDING],
    [int64Min, PetStatus.SOLD],
    [0n, PetStatus.AVAILABLE],
    [-5n, PetStatus.AVAILABLE],
  ])("updates the pet %s and leaves its status alone", async (petId, status) => {
    expect(expectSuccess(await update(petId, 11n))).toMatchObject({ item: { petId, quantity: 11n, status } });
    expect(await listItem(protocol, petId)).toMatchObject({ quantity: 11n, status });
  });

  it.each<[title: string, input: Input<"updateInventory">, code: ErrorCode]>([
    ["a pet that has no entry", { petId: 404_404n, update: { quantity: 1n } }, "PET_NOT_FOUND"],
    ["a call without an update", { petId: 7n }, "INVALID_REQUEST"],
    ["an update without a quantity", { petId: 7n, update: {} }, "INVALID_REQUEST"],
    ["a bad update of a pet that has no entry", { petId: 404_404n, update: {} }, "INVALID_REQUEST"],
  ])("refuses %s, and changes nothing", async (_title, input, code) => {
    await update(7n, 21n);
    expectFailure(await server.call(protocol, "updateInventory", input, { key: key.key }), code);
    expect(await listItem(protocol, 7n)).toMatchObject({ quantity: 21n });
  });

  it("names the field that is missing", async () => {
    const { failure } = await server.call(protocol, "updateInventory", { petId: 7n, update: {} }, { key: key.key });
    expect(failure?.fields?.join() ?? failure?.message).toContain("quantity");
  });
});

it("takes updates of one pet from all protocols at once, and keeps one of them", async () => {
  const outcomes = await Promise.all(
    protocols.map((protocol, index) =>
      server.call(protocol, "updateInventory", { petId: 3n, update: { quantity: BigInt(index) } }, { key: key.key }),
    ),
  );
  expect(outcomes.map((outcome) => expectSuccess(outcome).item?.quantity)).toEqual(
    protocols.map((_, at) => BigInt(at)),
  );
  const seen = await Promise.all(protocols.map(async (protocol) => (await listItem(protocol, 3n))?.quantity));
  expect(new Set(seen).size).toBe(1);
});

describe("over REST", () => {
  let http: HttpClient;
  beforeAll(() => {
    http = createHttp1Client(server);
    return () => http.close();
  });

  const send = (method: string, path: string, body?: string) =>
    http.send({
      method,
      path,
      body,
      headers: {
        authorization: `Bearer ${key.key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
    });

  it("answers with the entry itself, its integers exact JSON numbers", async () => {
    const answer = await send("PATCH", "/v1/inventory/9223372036854775807", '{"quantity":-9223372036854775808}');
    expect(answer.text.trim()).toBe('{"petId":9223372036854775807,"quantity":-9223372036854775808,"status":"pending"}');
    expect(answer.headers.get("content-type")).toBe("application/json");
  });

  it.each([
    '{"quantity":6,"status":"sold"}',
    '{"status":7,"petId":"x","quantity":6}',
    '{"quantity":6,"__proto__":{"quantity":9},"constructor":null}',
    '{"unknown":[{"quantity":9}],"quantity":6}',
    '{"quantity":6,"unknown":1e400}',
  ])("ignores unknown fields of the body: %s", async (body) => {
    const answer = await send("PATCH", "/v1/inventory/7", body);
    expect(JSON.parse(answer.text)).toEqual({ petId: 7, quantity: 6, status: "pending" });
  });

  it.each(["PUT", "POST", "DELETE", "TRACE", "PROPFIND"])("answers 405 to %s, with what is allowed", async (method) => {
    const answer = await send(method, "/v1/inventory/7");
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")?.split(/, */).toSorted()).toEqual(["GET", "HEAD", "OPTIONS", "PATCH"]);
    expectErrorBody(answer, "METHOD_NOT_ALLOWED");
  });

  it("answers OPTIONS by 204 with Allow and Accept-Patch", async () => {
    const answer = await send("OPTIONS", "/v1/inventory/7");
    expect(answer.status).toBe(204);
    expect(answer.headers.get("allow")?.split(/, */).toSorted()).toEqual(["GET", "HEAD", "OPTIONS", "PATCH"]);
    expect(answer.headers.get("accept-patch")).toBe("application/json");
    expect((await send("OPTIONS", "/v1/inventory")).headers.has("accept-patch")).toBe(false);
  });

  it.each([
    ["PATCH", "/v1/inventory/7", "content-type", "text/csv", "accept-patch", "application/json"],
    ["POST", "/v1/inventory/7:adjust", "content-type", "text/csv", "accept", "application/json"],
    ["PATCH", "/v1/inventory/7", "content-encoding", "gzip", "accept-encoding", "identity"],
  ])("answers 415 to %s %s with %s: %s, with what is taken", async (method, path, name, value, taken, type) => {
    const headers = { authorization: `Bearer ${key.key}`, [name]: value };
    const answer = await http.send({ method, path, body: '{"quantity":6}', headers });
    expectErrorBody(answer, "MEDIA_TYPE_UNSUPPORTED");
    const named = ["accept", "accept-patch", "accept-encoding"].filter((each) => answer.headers.has(each));
    expect([named, answer.headers.get(taken)]).toEqual([[taken], type]);
  });
});
