import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Outcome } from "../support/clients/client.ts";
import { protocols } from "../support/clients/protocols.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectFailure, expectSuccess } from "../support/expectations.ts";
import { pets } from "../support/fixture.ts";
import { createHttp1Client } from "../support/http.ts";
import { samples } from "../support/operations.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let key: MintedKey;
let scopeless: MintedKey;
let spent: MintedKey;

beforeAll(async () => {
  server = await startServer();
  [key, scopeless, spent] = await Promise.all([
    server.store.mintQuota(1_000_000, 1_000_000),
    server.store.mintKey("--scope", "orders:read"),
    server.store.mintQuota(1, 1_000_000),
  ]);
});

afterAll(() => server?.stop());

const statuses = ["available", "pending", "sold"];

/**
 * Expects the headers of a deprecated operation: since 2026-06-01 (RFC 9745), with its sunset a year later (RFC 8594).
 */
function expectDeprecation({ headers }: Outcome): void {
  expect(headers.get("deprecation")).toBe(`@${Date.UTC(2026, 5, 1) / 1000}`);
  expect(headers.get("sunset")).toBe("Tue, 01 Jun 2027 00:00:00 GMT");
  expect(headers.get("link")).toMatch(/<[^>]+>; *rel="?deprecation"?/);
}

describe.each(protocols)("over $name", (protocol) => {
  const get = (petId: bigint, as: MintedKey | undefined = key) =>
    server.call(protocol, "getPet", { petId }, { key: as?.key });

  it.each(pets)("gives every field of the pet $id", async ({ id, name, category, photoUrls, tags, status }) => {
    expect(expectSuccess(await get(id))).toMatchObject({
      pet: { id, name, category, photoUrls, tags, status: statuses.indexOf(status) + 1 },
    });
  });

  it("says that it is deprecated, and until when it answers", async () => {
    expectDeprecation(await get(7n));
  });

  it.each<[code: ErrorCode, call: () => Promise<Outcome>]>([
    ["PET_NOT_FOUND", () => get(404_404n)],
    ["SCOPE_MISSING", () => get(7n, scopeless)],
    ["API_KEY_MISSING", () => server.call(protocol, "getPet", { petId: 7n })],
  ])("says so on %s too", async (code, call) => {
    const outcome = await call();
    expectFailure(outcome, code);
    expectDeprecation(outcome);
  });

  it("says so on RATE_LIMIT_EXCEEDED too", async () => {
    await get(7n, spent);
    const outcome = await get(7n, spent);
    expectDeprecation(outcome);
    expect(outcome.failure?.code).toMatch(/RATE_LIMIT_EXCEEDED|API_KEY_BANNED/);
  });

  it.each(samples.filter(({ operation }) => operation !== "getPet"))(
    "says nothing of the kind of $operation",
    async ({ operation, input }) => {
      const { headers } = await server.call(protocol, operation, input, { key: key.key });
      expect([headers.get("deprecation"), headers.get("sunset")]).toEqual([null, null]);
    },
  );
});

describe("over REST", () => {
  const send = async (method: string, path: string) => {
    const http = createHttp1Client(server);
    const answer = await http.send({ method, path, headers: { authorization: `Bearer ${key.key}` } });
    http.close();
    return answer;
  };

  it("always writes all fields, empty ones included", async () => {
    expect(JSON.parse((await send("GET", "/v1/pets/8")).text)).toEqual({
      id: 8,
      name: "",
      category: "cat",
      photoUrls: [],
      tags: [],
      status: "available",
    });
  });

  it("answers HEAD as GET, without the body", async () => {
    const answer = await send("HEAD", "/v1/pets/7");
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expectDeprecation(answer);
  });

  it("answers OPTIONS by 204 with Allow", async () => {
    const answer = await send("OPTIONS", "/v1/pets/7");
    expect(answer.status).toBe(204);
    expect(answer.headers.get("allow")?.split(/, */).toSorted()).toEqual(["GET", "HEAD", "OPTIONS"]);
  });

  it.each(["OPTIONS", "POST"])("says of no deprecation to %s, which calls no operation", async (method) => {
    const { headers } = await send(method, "/v1/pets/7");
    expect([headers.get("deprecation"), headers.get("sunset"), headers.get("link")]).toEqual([null, null, null]);
  });
});
