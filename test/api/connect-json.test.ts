import { describe, expect, it } from "vitest";
import { expectErrorBody, expectFailure, expectLimits } from "../support/expectations.ts";
import { beyondDouble, int64Max, int64Min } from "../support/fixture.ts";
import { rpcPath } from "../support/operations.ts";
import { envelope, readConnectOutcome, readGrpcOutcome, readGrpcWebOutcome } from "../support/rpc-wire.ts";
import { useUnharmedServer } from "./unharmed-server.ts";

const tested = useUnharmedServer();

/** Calls an RPC by Connect's JSON over both versions of HTTP, whose answers must be the same. */
async function connect(path: string, body: string, headers: Record<string, string> = {}) {
  const all = { authorization: `Bearer ${tested.key}`, "content-type": "application/json", ...headers };
  const answers = await Promise.all(
    [tested.http1, tested.http2].map((http) => http.send({ method: "POST", path, headers: all, body })),
  );
  const [first, second] = answers.map(({ status, text }) => ({ status, text }));
  expect(first).toEqual(second);
  return answers[0] as (typeof answers)[0];
}

const list = rpcPath("listInventory");
const orders = rpcPath("listOrders");
const update = rpcPath("updateInventory");
const pet = rpcPath("getPet");
const hold = rpcPath("createHold");

describe("Connect's JSON", () => {
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

  it.each<[title: string, path: string, body: string]>([
    ["a status that does not exist", list, '{"status":["NOPE"]}'],
    ["a status by its name in REST", list, '{"status":["sold"]}'],
    ["a status that does not exist, of orders", orders, '{"status":["NOPE"]}'],
    ["a status that does not exist, beside one that does", list, '{"status":["PET_STATUS_SOLD","NOPE"]}'],
    ["a status by a number that has no name", list, '{"status":[99]}'],
    ["a status that is none", list, '{"status":["PET_STATUS_UNSPECIFIED"]}'],
    ["a status that is null", list, '{"status":[null]}'],
    ["a status that is no list", list, '{"status":"PET_STATUS_SOLD"}'],
    ["a status in a list of lists", list, '{"status":[["PET_STATUS_SOLD"]]}'],
    ["a number just past int64", update, '{"petId":"7","update":{"quantity":9223372036854775808}}'],
    [
      "a number that a double would round to an integer",
      update,
      '{"petId":7,"update":{"quantity":3.0000000000000000001}}',
    ],
    ["a status that a double would round to one", list, '{"status":[3.0000000000000000001]}'],
    ...["", " ", "\\n", "0x10", "0b11", "0o17", "+5", "05", " 1", "1.5"].map((text): [string, string, string] => [
      `the quoted quantity "${text}"`,
      update,
      `{"petId":"7","update":{"quantity":"${text}"}}`,
    ]),
    ['the page size "0x2"', list, '{"pageSize":"0x2"}'],
    ...["900seconds", "5s later", "5s\\n", "5"].map((ttl): [string, string, string] => [
      `the ttl "${ttl}"`,
      hold,
      `{"petId":"7","quantity":"1","ttl":"${ttl}"}`,
    ]),
    ["a page size just past int32", list, '{"pageSize":2147483648}'],
    ["half of a surrogate pair", list, '{"pageToken":"\\ud800"}'],
    ["half of a surrogate pair in an unknown field", list, '{"x":{"y":["\\ud800"]}}'],
    ["half of a surrogate pair in an unknown name", list, '{"\\udc00":1}'],
    ["101 levels in an unknown field", list, `{"x":${deep(100)}}`],
    ["10,000 levels in an unknown field", list, `{"x":${deep(10_000)}}`],
    ["101 levels in a known field", list, `{"status":${deep(100)}}`],
    ["__proto__ with what is wrong in it", list, '{"status":["NOPE"],"__proto__":{"status":[]}}'],
  ])("is refused with %s", async (_title, path, body) => {
    const answer = await connect(path, body);
    expect(answer.status).toBe(400);
    expectFailure(readConnectOutcome(answer), "INVALID_REQUEST");
    expectLimits(answer.headers);
    expect(answer.text).not.toContain("NOPE");
  });

  it.each<[title: string, body: string, count: number]>([
    ["an unknown field", '{"x":1,"status":["PET_STATUS_SOLD"]}', 3],
    ["an unknown field that has an unknown name in it", '{"x":{"status":["NOPE"]},"status":["PET_STATUS_SOLD"]}', 3],
    ["99 levels in an unknown field", `{"x":${deep(99)},"status":["PET_STATUS_SOLD"]}`, 3],
    ["a status by its number", '{"status":[3]}', 3],
    ["__proto__", '{"__proto__":{"status":["NOPE"]}}', 13],
    ["null for a field", '{"status":null,"pageSize":null}', 13],
    ["the field's name in the proto", '{"page_size":1}', 1],
    ["an integer as a number with a fraction", '{"pageSize":1.0}', 1],
    ["an integer with an exponent", '{"pageSize":10e-1}', 1],
    ["an integer as a text", '{"pageSize":"1"}', 1],
    ["an integer as a text with an exponent", '{"pageSize":"10e-1"}', 1],
  ])("is taken with %s", async (_title, body, count) => {
    const answer = await connect(list, body);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text).items).toHaveLength(count);
  });

  it.each([beyondDouble, int64Max, int64Min])("has the pet %s by its exact number", async (id) => {
    for (const text of [`${id}`, `"${id}"`, `${id}.0`, `${id}0e-1`]) {
      const answer = await connect(pet, `{"petId":${text}}`);
      expect(JSON.parse(answer.text).pet.id, text).toBe(String(id));
    }
    const { failure } = readConnectOutcome(await connect(pet, `{"petId":${id > 0n ? id - 1n : id + 1n}}`));
    expect(failure?.code).toBe("PET_NOT_FOUND");
  });
});

describe("a wrong value in JSON", () => {
  const int64 = `must be a 64-bit integer, from ${int64Min} to ${int64Max}`;
  const int32 = "must be a 32-bit integer, from -2147483648 to 2147483647";
  const statuses = "must be one of PET_STATUS_AVAILABLE, PET_STATUS_PENDING, PET_STATUS_SOLD";
  const secret = `psk_${"5".repeat(36)}`;

  it.each<[title: string, path: string, body: string, field: string, reason: string]>([
    ["no integer", update, '{"petId":"7","update":{"quantity":3.5}}', "update.quantity", int64],
    ["the field's name in the proto", update, '{"pet_id":"x","update":{"quantity":1}}', "pet_id", int64],
    ["the field's name in JSON", update, '{"petId":"x","update":{"quantity":1}}', "pet_id", int64],
    ["an integer that is too large", list, '{"pageSize":2147483648}', "page_size", int32],
    ["an enum's name that does not exist", list, '{"status":["PET_STATUS_SOLD","NOPE"]}', "status[1]", statuses],
    ["no list", list, '{"status":"PET_STATUS_SOLD"}', "status", "must be an array"],
    ["no duration", hold, '{"petId":7,"quantity":1,"ttl":"5"}', "ttl", "must be a duration in seconds, such as 1.5s"],
    ["no message", update, '{"petId":7,"update":[]}', "update", "must be an object"],
    [
      "a field under both of its names",
      list,
      '{"pageSize":1,"page_size":1}',
      "page_size",
      "must not be given together with pageSize, which is the same field",
    ],
    ["a secret", list, `{"pageToken":7,"status":["${secret}"]}`, "page_token", "must be a string"],
    ["a secret for an enum's name", list, `{"status":["${secret}"]}`, "status[0]", statuses],
  ])("is named with its field over every RPC protocol: %s", async (_title, path, body, field, reason) => {
    const message = envelope(Buffer.from(body));
    const headers = { authorization: `Bearer ${tested.key}`, te: "trailers" };
    const send = (type: string) =>
      tested.http2.send({ method: "POST", path, headers: { ...headers, "content-type": type }, body: message });
    for (const outcome of [
      readConnectOutcome(await connect(path, body)),
      readGrpcOutcome(await send("application/grpc+json")),
      readGrpcWebOutcome(await send("application/grpc-web+json")),
    ]) {
      expectFailure(outcome, "INVALID_REQUEST");
      expect(outcome.failure?.message).toBe(`${field}: ${reason}.`);
      expect(outcome.failure?.fields).toEqual([field]);
    }
  });

  it("has no field if it is the message itself", async () => {
    const { failure } = readConnectOutcome(await connect(list, "[]"));
    expect(failure?.message).toBe("The request must be an object.");
    expect(failure?.fields).toEqual([]);
  });
});

describe("a status that is none", () => {
  const names = (prefix: string) => `must be one of ${prefix}AVAILABLE, ${prefix}PENDING, ${prefix}SOLD.`;

  it("is refused with those that there are", async () => {
    for (const [status, field] of [
      ["[0]", "status[0]"],
      ["[99]", "status[0]"],
      ['["PET_STATUS_UNSPECIFIED"]', "status[0]"],
      ["[1,0]", "status[1]"],
    ]) {
      const { failure } = readConnectOutcome(await connect(list, `{"status":${status}}`));
      expect(failure?.message, status).toBe(`${field}: ${names("PET_STATUS_")}`);
      expect(failure?.fields).toEqual([field]);
    }
    for (const status of ["unspecified", "", "0", "1", "SOLD", "pet_status_sold"]) {
      const path = `/v1/inventory?status=${status}`;
      const answer = await tested.http1.send({
        method: "GET",
        path,
        headers: { authorization: `Bearer ${tested.key}` },
      });
      expectErrorBody(answer, "INVALID_REQUEST");
      expect(JSON.parse(answer.text).message, status).toBe(`status: ${names("").toLowerCase()}`);
    }
  });
});
