import { connect, type OutgoingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UpdateInventoryRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectLimits, expectSuccess } from "../support/expectations.ts";
import { pets } from "../support/fixture.ts";
import { readMetrics } from "../support/metrics.ts";
import { rpcPath } from "../support/operations.ts";
import { openSocket, readAnswer, sendRaw } from "../support/raw.ts";
import { envelope, readConnectOutcome, readGrpcOutcome, readGrpcWebOutcome } from "../support/rpc-wire.ts";
import { isSeveral, type MintedKey, startServer, type TestServer } from "../support/server.ts";

const path = rpcPath("updateInventory");
const update = create(UpdateInventoryRequestSchema, { petId: 7n, update: { quantity: 3n } });
const message = Buffer.from(toBinary(UpdateInventoryRequestSchema, update));

let server: TestServer;
let keys: Record<"good" | "reader" | "spent", MintedKey>;

beforeAll(async () => {
  server = await startServer();
  const [good, reader, spent] = await Promise.all([
    server.store.mintKey(),
    server.store.mintKey("--scope", "orders:read"),
    server.store.mintKey("--plan", "enterprise", "--per-minute", "1000", "--per-day", "1"),
  ]);
  keys = { good, reader, spent };
  await server.call(rest, "listInventory", {}, { key: spent.key });
});

afterAll(() => server?.stop());

async function expectUnchanged(): Promise<void> {
  const { items } = expectSuccess(await server.call(rest, "listInventory", {}, { key: keys.good.key }));
  const quantityOf7 = (rows: readonly { quantity: bigint }[], at: number) => rows[at]?.quantity;
  const at = pets.findIndex(({ id }) => id === 7n);
  expect(quantityOf7(items, at)).toBe(quantityOf7(pets, at));
}

/** Sends headers and the first bytes of a body over HTTP/2, and no more; `finish` sends the rest. */
function holdBack(headers: OutgoingHttpHeaders, first: Uint8Array) {
  const session = connect(server.origin);
  session.on("error", () => {});
  const stream = session.request({ ":method": "POST", ":path": path, te: "trailers", ...headers });
  stream.write(first);
  const found = { headers: new Headers(), trailers: new Headers() };
  const chunks: Buffer[] = [];
  const fill = (target: Headers) => (entries: object) => {
    for (const [name, value] of Object.entries(entries)) {
      target.append(name.replace(":", "x-"), String(value));
    }
  };
  stream.on("response", fill(found.headers)).on("trailers", fill(found.trailers));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => {});
  const answer = new Promise<void>((resolve) => stream.on("end", resolve).on("close", resolve)).then(() => {
    session.destroy();
    const bytes = Buffer.concat(chunks);
    return { ...found, bytes, text: bytes.toString(), status: Number(found.headers.get("x-status")) };
  });
  return { answer, finish: (rest: Uint8Array) => stream.end(rest) };
}

describe("a body that is held back past the deadline", () => {
  const half = (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 1);
  const authorization = () => `Bearer ${keys.good.key}`;

  it.each([[0], [1]])("is DEADLINE_EXCEEDED over gRPC, with %i messages of it sent", async (sent) => {
    const headers = { authorization: authorization(), "content-type": "application/grpc", "grpc-timeout": "100m" };
    const { answer } = holdBack(headers, sent === 0 ? Buffer.alloc(0) : half(envelope(message)));
    const outcome = readGrpcOutcome(await answer);
    expectFailure(outcome, "DEADLINE_EXCEEDED");
    expectLimits(outcome.headers);
    await expectUnchanged();
  });

  it("is DEADLINE_EXCEEDED over gRPC though the message is whole, for the call is not", async () => {
    const headers = { authorization: authorization(), "content-type": "application/grpc", "grpc-timeout": "100m" };
    const { answer } = holdBack(headers, envelope(message));
    expectFailure(readGrpcOutcome(await answer), "DEADLINE_EXCEEDED");
    await expectUnchanged();
  });

  it("is DEADLINE_EXCEEDED over gRPC-Web", async () => {
    const type = "application/grpc-web+proto";
    const headers = { authorization: authorization(), "content-type": type, "grpc-timeout": "100m" };
    const { answer } = holdBack(headers, half(envelope(message)));
    expectFailure(readGrpcWebOutcome(await answer), "DEADLINE_EXCEEDED");
    await expectUnchanged();
  });

  it("is DEADLINE_EXCEEDED over Connect, HTTP/2", async () => {
    const type = "application/proto";
    const headers = { authorization: authorization(), "content-type": type, "connect-timeout-ms": "100" };
    const { answer } = holdBack(headers, half(message));
    const { status, headers: answered, text } = await answer;
    expect(status).toBe(504);
    expectFailure(readConnectOutcome({ status, headers: answered, text }), "DEADLINE_EXCEEDED");
    await expectUnchanged();
  });

  it.each(["application/json", "application/proto"])(
    "is DEADLINE_EXCEEDED over Connect, HTTP/1.1: %s",
    async (type) => {
      const head = `Authorization: ${authorization()}\r\nContent-Type: ${type}\r\nConnect-Timeout-Ms: 100\r\nContent-Length: 9`;
      const answer = await sendRaw(server, `POST ${path} HTTP/1.1\r\nHost: pets\r\n${head}\r\n\r\n{`);
      expect(answer.status).toBe(504);
      expectFailure(readConnectOutcome(answer), "DEADLINE_EXCEEDED");
      await expectUnchanged();
    },
  );

  it.each(["grpc-timeout", "connect-timeout-ms"])("comes to nothing by a timeout of 0: %s", async (name) => {
    const isGrpc = name === "grpc-timeout";
    const type = isGrpc ? "application/grpc" : "application/proto";
    const headers = { authorization: authorization(), "content-type": type, [name]: isGrpc ? "0m" : "0" };
    const { answer, finish } = holdBack(headers, Buffer.alloc(0));
    finish(isGrpc ? envelope(message) : message);
    const outcome = isGrpc ? readGrpcOutcome(await answer) : readConnectOutcome(await answer);
    expectFailure(outcome, "DEADLINE_EXCEEDED");
    await expectUnchanged();
  });

  it.each([0, 100])("tells the caller what to do next, with a timeout of %i ms", async (ms) => {
    const advice = "The deadline has passed. Nothing was changed; allow more time.";
    const grpc = { authorization: authorization(), "content-type": "application/grpc", "grpc-timeout": `${ms}m` };
    const { headers, trailers } = await holdBack(grpc, Buffer.alloc(0)).answer;
    expect(trailers.get("grpc-message") ?? headers.get("grpc-message")).toBe(advice);
    const head = `Authorization: ${authorization()}\r\nContent-Type: application/json\r\nConnect-Timeout-Ms: ${ms}`;
    const answer = await sendRaw(
      server,
      `POST ${path} HTTP/1.1\r\nHost: pets\r\n${head}\r\nContent-Length: 9\r\n\r\n{`,
    );
    expect(JSON.parse(answer.text)).toMatchObject({ code: "deadline_exceeded", message: advice });
  });
});

it.skipIf(isSeveral)("a body that is held back is no failure of the service", async () => {
  const failed = async () => (await readMetrics(server)).sum("petstore_calls_failed_total");
  const late = async () => (await readMetrics(server)).sum("petstore_calls_total", { code: "DEADLINE_EXCEEDED" });
  const before = { failed: await failed(), late: await late() };
  const headers = {
    authorization: `Bearer ${keys.good.key}`,
    "content-type": "application/grpc",
    "grpc-timeout": "300m",
  };
  await holdBack(headers, Buffer.alloc(0)).answer;
  await until(async () => (await late()) === before.late + 1, 5_000);
  expect(await failed()).toBe(before.failed);
});

describe("the body of a refused caller is not read", () => {
  const head = (method: string, target: string, key: string | undefined, type = "application/json") =>
    [
      `${method} ${target} HTTP/1.1`,
      "Host: pets",
      ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
      `Content-Type: ${type}`,
      "Content-Length: 1000",
      "",
      "",
    ].join("\r\n");

  it.each<[code: ErrorCode, bytes: () => string]>([
    ["API_KEY_MISSING", () => head("PATCH", "/v1/inventory/7", undefined)],
    ["API_KEY_INVALID", () => head("PATCH", "/v1/inventory/7", "psk_wrong")],
    ["RATE_LIMIT_EXCEEDED", () => head("PATCH", "/v1/inventory/7", keys.spent.key)],
    ["ROUTE_NOT_FOUND", () => head("PATCH", "/v1/nope", keys.good.key)],
    ["METHOD_NOT_ALLOWED", () => head("PUT", "/v1/inventory/7", keys.good.key)],
    ["SCOPE_MISSING", () => head("PATCH", "/v1/inventory/7", keys.reader.key)],
  ])("over REST: %s", async (code, bytes) => {
    expectErrorBody(await sendRaw(server, bytes()), code);
  });

  it.each<[code: ErrorCode, key: () => string | undefined]>([
    ["API_KEY_MISSING", () => undefined],
    ["API_KEY_INVALID", () => "psk_wrong"],
    ["RATE_LIMIT_EXCEEDED", () => keys.spent.key],
    ["SCOPE_MISSING", () => keys.reader.key],
  ])("over every RPC protocol: %s", async (code, key) => {
    for (const type of ["application/json", "application/proto"]) {
      expectFailure(readConnectOutcome(await sendRaw(server, head("POST", path, key(), type))), code);
    }
    const authorization = key() === undefined ? {} : { authorization: `Bearer ${key()}` };
    const grpc = holdBack({ ...authorization, "content-type": "application/grpc" }, Buffer.alloc(0));
    expectFailure(readGrpcOutcome(await grpc.answer), code);
    const web = holdBack({ ...authorization, "content-type": "application/grpc-web+proto" }, Buffer.alloc(0));
    expectFailure(readGrpcWebOutcome(await web.answer), code);
  });

  it("nor asked for by 100 Continue", async () => {
    const socket = openSocket(server);
    const bytes = head("PATCH", "/v1/inventory/7", undefined).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    socket.write(bytes);
    const answer = await readAnswer(socket);
    socket.destroy();
    expectErrorBody(answer, "API_KEY_MISSING");
  });
});
