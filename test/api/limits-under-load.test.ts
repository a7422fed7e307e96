import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createHttp1Client,
  createHttp2Client,
  type HttpAnswer,
  type HttpClient,
  type HttpRequest,
} from "../support/http.ts";
import { rpcPath } from "../support/operations.ts";
import { envelope, readGrpcOutcome } from "../support/rpc-wire.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** Fewer than the requests, and so many that the refusals do not ban. */
const quota = 2_000;

const connectionsEach = 32;
const requestsEach = 60;

interface Way {
  readonly connect: (server: TestServer) => HttpClient;
  readonly request: (key: string) => HttpRequest;
  readonly isAdmitted: (answer: HttpAnswer) => boolean;
}

const rest: Way = {
  connect: createHttp1Client,
  request: (key) => ({
    method: "PATCH",
    path: "/v1/inventory/7",
    headers: { authorization: `Bearer ${key}` },
    body: '{"quantity":1}',
  }),
  isAdmitted: ({ status }) => status === 200,
};

const grpc: Way = {
  connect: createHttp2Client,
  request: (key) => ({
    method: "POST",
    path: rpcPath("getPet"),
    headers: { authorization: `Bearer ${key}`, "content-type": "application/grpc", te: "trailers" },
    body: envelope(Buffer.of(8, 7)),
  }),
  isAdmitted: (answer) => readGrpcOutcome(answer).failure === undefined,
};

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server?.stop());

it("admits exactly the quota over 64 connections of REST and gRPC, and tells each request another remainder", async () => {
  const { key } = await server.store.mintQuota(quota, 1_000_000);

  async function callOn({ connect, request, isAdmitted }: Way): Promise<Told[]> {
    const client = connect(server);
    const told: Told[] = [];
    for (let count = 0; count < requestsEach; count += 1) {
      const answer = await client.send(request(key));
      told.push({ isAdmitted: isAdmitted(answer), remaining: Number(answer.headers.get("x-ratelimit-remaining")) });
    }
    client.close();
    return told;
  }
  const ways = [rest, grpc].flatMap((way) => Array.from({ length: connectionsEach }, () => callOn(way)));
  const told = (await Promise.all(ways)).flat();

  const remainders = told.filter(({ isAdmitted }) => isAdmitted).map(({ remaining }) => remaining);
  expect(remainders.toSorted((a, b) => a - b)).toEqual(Array.from({ length: quota }, (_, remaining) => remaining));
  expect(told).toHaveLength(2 * connectionsEach * requestsEach);
  expect(new Set(told.filter(({ isAdmitted }) => !isAdmitted).map(({ remaining }) => remaining))).toEqual(new Set([0]));
}, 60_000);

interface Told {
  readonly isAdmitted: boolean;
  readonly remaining: number;
}
