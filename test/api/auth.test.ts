import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ListInventoryRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { Outcome } from "../support/clients/client.ts";
import { type Protocol, protocols, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectLimits, expectSuccess } from "../support/expectations.ts";
import { createHttp1Client, createHttp2Client } from "../support/http.ts";
import { rpcPath, samples } from "../support/operations.ts";
import { envelope, readConnectOutcome, readGrpcOutcome } from "../support/rpc-wire.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";

const scopes = ["inventory:read", "inventory:write", "pets:read", "orders:read"];

let server: TestServer;
let good: MintedKey;
let expired: MintedKey;
let revoked: MintedKey;
let rotated: MintedKey;
let successor: MintedKey;
let scoped: readonly MintedKey[];

beforeAll(async () => {
  server = await startServer("--trusted-proxy", "127.0.0.1/32");
  const { store } = server;
  [good, expired, revoked, rotated, ...scoped] = (await Promise.all([
    store.mintQuota(1_000_000, 1_000_000),
    store.mintKey("--expires-in", "1s"),
    store.mintKey(),
    store.mintKey(),
    ...scopes.map((scope) => store.mintKey("--scope", scope)),
  ])) as [MintedKey, MintedKey, MintedKey, MintedKey];
  await store.run("keys", "revoke", revoked.id);
  successor = JSON.parse(await store.run("keys", "rotate", rotated.id, "--grace", "1s", "--json"));
  for (const { key } of [expired, rotated]) {
    await until(async () => (await list(rest, `Bearer ${key}`)).failure !== undefined, 5_000);
  }
});

afterAll(() => server?.stop());

/** Lists from an address of the protocol's own, so that no protocol uses up the requests that strangers have. */
function list(protocol: Protocol, authorization: string | undefined): Promise<Outcome> {
  const headers = from(protocol);
  return server.call(
    protocol,
    "listInventory",
    {},
    {
      headers: authorization === undefined ? headers : { ...headers, authorization },
    },
  );
}

function from(protocol: Protocol): { "x-forwarded-for": string } {
  return { "x-forwarded-for": `203.0.113.${protocols.indexOf(protocol)}` };
}

/** A key like this one, with another character in this place. */
function withTypo(key: string, place: number): string {
  return key.slice(0, place) + (key[place] === "x" ? "y" : "x") + key.slice(place + 1);
}

const refused: [title: string, authorization: () => string | undefined, code: ErrorCode][] = [
  ["no Authorization", () => undefined, "API_KEY_MISSING"],
  ["another scheme", () => "Basic cGV0OnN0b3Jl", "API_KEY_MISSING"],
  ["a scheme that only begins like Bearer", () => `Bearerx ${good.key}`, "API_KEY_MISSING"],
  ["the key without a scheme", () => good.key, "API_KEY_MISSING"],
  ["an empty token", () => "Bearer ", "API_KEY_MISSING"],
  ["the scheme alone", () => "Bearer", "API_KEY_MISSING"],
  ["a token that is no key", () => "Bearer secret", "API_KEY_INVALID"],
  ["a key with another prefix", () => `Bearer pst_${good.key.slice(4)}`, "API_KEY_INVALID"],
  ["a key that is cut short", () => `Bearer ${good.key.slice(0, -1)}`, "API_KEY_INVALID"],
  ["a key with one character too many", () => `Bearer ${good.key}0`, "API_KEY_INVALID"],
  ["a key with its first letter mistyped", () => `Bearer ${withTypo(good.key, 4)}`, "API_KEY_INVALID"],
  ["a key with its last letter mistyped", () => `Bearer ${withTypo(good.key, good.key.length - 1)}`, "API_KEY_INVALID"],
  ["a key in upper case", () => `Bearer ${good.key.toUpperCase()}`, "API_KEY_INVALID"],
  ["two keys in one header", () => `Bearer ${good.key}, Bearer ${good.key}`, "API_KEY_INVALID"],
  ["a key that has expired", () => `Bearer ${expired.key}`, "API_KEY_EXPIRED"],
  ["a key that was rotated away, past its grace", () => `Bearer ${rotated.key}`, "API_KEY_EXPIRED"],
  ["a key that was revoked", () => `Bearer ${revoked.key}`, "API_KEY_REVOKED"],
];

describe.each(protocols)("over $name", (protocol) => {
  it.each(refused)("refuses %s", async (_title, authorization, code) => {
    const outcome = await list(protocol, authorization());
    expectFailure(outcome, code);
    expect(outcome.headers.get("www-authenticate")).toMatch(/^Bearer\b/);
    expectLimits(outcome.headers);
  });

  it.each(["Bearer", "bearer", "BEARER", "bEaReR"])("takes the scheme as %s", async (scheme) => {
    expectSuccess(await list(protocol, `${scheme} ${good.key}`));
  });

  it("takes the new secret of a rotated key", async () => {
    expect(successor.id).toBe(rotated.id);
    expectSuccess(await list(protocol, `Bearer ${successor.key}`));
  });

  it.each(samples.filter(({ scope }) => scope !== undefined))(
    "lets $operation in with the scope $scope alone",
    async ({ operation, input, scope }) => {
      for (const [index, { key }] of scoped.entries()) {
        const outcome = await server.call(protocol, operation, input, { key });
        if (scopes[index] === scope) {
          expectSuccess(outcome);
        } else {
          expectFailure(outcome, "SCOPE_MISSING");
        }
      }
    },
  );

  it.each(samples)("refuses $operation without a key", async ({ operation, input }) => {
    expectFailure(await server.call(protocol, operation, input, { headers: from(protocol) }), "API_KEY_MISSING");
  });
});

describe("two Authorization headers", () => {
  const orders = [
    ["a good key first", () => [`Bearer ${good.key}`, "Bearer secret"]],
    ["a good key last", () => ["Bearer secret", `Bearer ${good.key}`]],
    ["the same key twice", () => [`Bearer ${good.key}`, `Bearer ${good.key}`]],
    ["another scheme first", () => ["Basic cGV0OnN0b3Jl", `Bearer ${good.key}`]],
    ["another scheme last", () => [`Bearer ${good.key}`, "Basic cGV0OnN0b3Jl"]],
    ["another scheme twice", () => ["Basic cGV0OnN0b3Jl", "Basic cGV0OnN0b3Jl"]],
  ] as const;

  describe.each([
    ["HTTP/1.1", createHttp1Client],
    ["HTTP/2", createHttp2Client],
  ])("over %s", (_version, createClient) => {
    const send = async (
      path: string,
      method: string,
      headers: Record<string, string | string[]>,
      body?: Uint8Array,
    ) => {
      const http = createClient(server);
      const answer = await http.send({ method, path, headers, body });
      http.close();
      return answer;
    };

    it.each(orders)("are refused by REST: %s", async (_title, authorization) => {
      const answer = await send("/v1/inventory", "GET", { authorization: [...authorization()] });
      expectErrorBody(answer, "API_KEY_INVALID");
    });

    it.each(orders)("are refused by Connect: %s", async (_title, authorization) => {
      const headers = { authorization: [...authorization()], "content-type": "application/json" };
      const answer = await send(rpcPath("listInventory"), "POST", headers, Buffer.from("{}"));
      expect(answer.status).toBe(401);
      expectFailure(readConnectOutcome(answer), "API_KEY_INVALID");
    });
  });

  it.each(orders)("are refused by gRPC: %s", async (_title, authorization) => {
    const http = createHttp2Client(server);
    const headers = { authorization: [...authorization()], "content-type": "application/grpc", te: "trailers" };
    const body = envelope(toBinary(ListInventoryRequestSchema, create(ListInventoryRequestSchema)));
    const answer = await http.send({ method: "POST", path: rpcPath("listInventory"), headers, body });
    http.close();
    expectFailure(readGrpcOutcome(answer), "API_KEY_INVALID");
  });
});

describe("while the server runs", () => {
  it("takes a key that another process has just created", async () => {
    const { key } = await server.store.mintKey();
    expectSuccess(await list(rest, `Bearer ${key}`));
  });

  it("refuses a key over every protocol within 1 s of its revocation by another process", async () => {
    const { id, key } = await server.store.mintQuota(1_000_000, 1_000_000);
    const listEach = () => Promise.all(protocols.map((protocol) => list(protocol, `Bearer ${key}`)));
    for (const outcome of await listEach()) {
      expectSuccess(outcome);
    }
    await server.store.run("keys", "revoke", id);
    let outcomes: Outcome[] = [];
    await until(async () => {
      outcomes = await listEach();
      return outcomes.every(({ failure }) => failure !== undefined);
    }, 1_000);
    for (const outcome of outcomes) {
      expectFailure(outcome, "API_KEY_REVOKED");
    }
  });

  it("takes both secrets of a rotated key during its grace, and counts them as one", async () => {
    const { id, key } = await server.store.mintQuota(10, 1_000);
    const fresh: MintedKey = JSON.parse(await server.store.run("keys", "rotate", id, "--json"));
    expect(fresh.key).not.toBe(key);
    const remaining = [];
    for (const secret of [key, fresh.key, key]) {
      remaining.push(expectLimits((await list(rest, `Bearer ${secret}`)).headers).remaining);
    }
    expect(remaining).toEqual([9, 8, 7]);
  });

  it("revokes both secrets of a rotated key", async () => {
    const { id, key } = await server.store.mintKey();
    const fresh: MintedKey = JSON.parse(await server.store.run("keys", "rotate", id, "--json"));
    await server.store.run("keys", "revoke", id);
    for (const secret of [key, fresh.key]) {
      await until(async () => (await list(rest, `Bearer ${secret}`)).failure?.code === "API_KEY_REVOKED", 1_000);
    }
  });
});
