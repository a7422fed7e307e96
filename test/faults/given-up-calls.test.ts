import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as connectHttp2, constants } from "node:http2";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import { UpdateInventoryRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { openingWith, requestFrame } from "../security/http2-frames.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectSuccess } from "../support/expectations.ts";
import { pets, toCsv } from "../support/fixture.ts";
import { createHttp2Client, type HttpClient } from "../support/http.ts";
import { evaluate, inspectable } from "../support/inspector.ts";
import { keptMegabytes } from "../support/kept-memory.ts";
import { amount } from "../support/long.ts";
import { readMetrics } from "../support/metrics.ts";
import { rpcPath } from "../support/operations.ts";
import { openFiles } from "../support/process-usage.ts";
import { openSocket } from "../support/raw.ts";
import { report } from "../support/report.ts";
import { envelope, readConnectOutcome, readGrpcOutcome } from "../support/rpc-wire.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

/** Each updates a pet of its own. */
const calls = amount(2_000, 40_000);
const atATime = 100;

/**
 * What the second half of the calls may leave for good: 100 bytes a call in the long run. In the short one there is
 * code that was compiled on the way, too.
 */
const spareMegabytes = amount(4, 2);

let server: TestServer;
let key: string;

beforeAll(async () => {
  const store = new TestStore();
  const file = join(store.directory, "many.csv");
  writeFileSync(file, toCsv(Array.from({ length: calls }, (_, id) => ({ ...pets[1], id, quantity: 0 }))));
  await store.run("import", file);
  ({ key } = await store.mintQuota(1_000_000_000, 1_000_000_000));
  server = await serve(store, { env: inspectable });
});

afterAll(() => server?.stop());

/** What a caller knows of its update; undefined when it has not waited for it. */
type Known = "made" | "not made" | undefined;

/** Ways to give up an update, by a deadline of 1 ms or by going away. */
const waysToGiveUp: readonly ((petId: number, http: HttpClient) => Promise<Known>)[] = [
  async (petId, http) =>
    known(readGrpcOutcome(await http.send(rpc(petId, "application/grpc", "grpc-timeout", "1m"))).failure?.code),
  async (petId, http) => {
    const answer = await http.send(rpc(petId, "application/proto", "connect-timeout-ms", "1"));
    return known(answer.status === 200 ? undefined : readConnectOutcome(answer).failure?.code);
  },
  resetHttp2,
  dropHttp1,
];

function rpc(petId: number, type: string, timeoutHeader: string, timeout: string) {
  const update = create(UpdateInventoryRequestSchema, { petId: BigInt(petId), update: { quantity: 1n } });
  const message = toBinary(UpdateInventoryRequestSchema, update);
  const headers = { authorization: `Bearer ${key}`, "content-type": type, te: "trailers", [timeoutHeader]: timeout };
  const body = type === "application/grpc" ? envelope(message) : message;
  return { method: "POST", path: rpcPath("updateInventory"), headers, body };
}

function known(code: string | undefined): Known {
  expect([undefined, "DEADLINE_EXCEEDED", "UNAVAILABLE"]).toContain(code);
  return code === undefined ? "made" : code === "DEADLINE_EXCEEDED" ? "not made" : undefined;
}

async function resetHttp2(petId: number): Promise<Known> {
  const session = connectHttp2(server.origin).on("error", () => {});
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const stream = session.request({ ":method": "PATCH", ":path": `/v1/inventory/${petId}`, ...headers });
  stream.on("error", () => {}).end('{"quantity":1}');
  await once(session, "connect");
  stream.close(constants.NGHTTP2_CANCEL);
  await once(stream, "close");
  session.destroy();
  return undefined;
}

async function dropHttp1(petId: number): Promise<Known> {
  const socket = openSocket(server).on("error", () => {});
  const head = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 14`;
  socket.write(`PATCH /v1/inventory/${petId} HTTP/1.1\r\n${head}\r\n\r\n{"quantity":1}`);
  await once(socket, "connect");
  socket.destroy();
  return undefined;
}

/** Gives up calls from one to another, some at a time. */
async function giveUp(from: number, to: number): Promise<readonly Known[]> {
  const http = createHttp2Client(server);
  const outcomes: Known[] = [];
  for (let first = from; first < to; first += atATime) {
    const petIds = Array.from({ length: atATime }, (_, index) => first + index);
    const start = (petId: number) =>
      (waysToGiveUp[petId % waysToGiveUp.length] as (typeof waysToGiveUp)[0])(petId, http);
    outcomes.push(...(await Promise.all(petIds.map(start))));
  }
  http.close();
  return outcomes;
}

it(`makes no update of ${calls} that it says is past its deadline, and holds nothing of those that were given up`, {
  timeout: amount(60_000, 300_000),
}, async () => {
  // A server that has made an update has opened all its files.
  expectSuccess(await server.call(rest, "updateInventory", { petId: 0n, update: { quantity: 0n } }, { key }));
  const filesBefore = openFiles(server.pid);
  // Code is compiled, and memory grows to what it will be.
  const first = await giveUp(0, calls / 2);
  const keptBefore = await keptMegabytes(server);
  const outcomes = [...first, ...(await giveUp(calls / 2, calls))];
  await until(async () => openFiles(server.pid) <= filesBefore, 20_000);
  const growthMegabytes = (await keptMegabytes(server)) - keptBefore;
  expect(growthMegabytes).toBeLessThan(spareMegabytes);

  const { items } = expectSuccess(await server.call(rest, "listInventory", {}, { key }));
  expect(items).toHaveLength(calls);
  const wrong = items.filter(({ quantity }, petId) => {
    const outcome = outcomes[petId];
    return outcome !== undefined && (quantity === 1n) !== (outcome === "made");
  });
  expect(wrong).toEqual([]);
  const count = (outcome: Known) => outcomes.filter((each) => each === outcome).length;
  const made = items.filter(({ quantity }) => quantity === 1n).length;
  report("given-up calls", {
    calls,
    pastDeadline: count("not made"),
    answered: count("made"),
    made,
    growthMegabytes,
  });
  expect(count("not made")).toBeGreaterThan(0);
  expect(server.log).not.toMatch(/"level":[56]0/);
});

it("works for none but the first of the calls of which the client is gone before their turn", async () => {
  const calls = Array.from({ length: 100 }, (_, index) =>
    requestFrame({ ":path": "/v1/inventory", authorization: `Bearer ${key}` }, 2 * index + 1),
  );
  const given = async (labels: object) =>
    (await readMetrics(server)).sum("petstore_calls_total", { code: "INCOMPLETE", ...labels });
  const before = await given({});
  const socket = openSocket(server).on("error", () => {});
  socket.write(openingWith());
  await once(socket, "data");
  // All that is said meanwhile is read in one turn of the server's loop, and that the client is gone in the next.
  const asleep = evaluate(() => server.log, "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)");
  await setTimeout(100);
  socket.write(Buffer.concat(calls));
  await setTimeout(50);
  socket.destroy();
  await asleep;
  await until(async () => (await given({})) >= before + 50, 5_000);
  expect(await given({ method: rpcPath("listInventory").slice(1) })).toBeLessThan(50);
});
