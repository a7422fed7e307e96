import { setTimeout } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { createHttp1Client, createHttp2Client, type HttpAnswer, type HttpClient } from "../support/http.ts";
import { amount, isLong } from "../support/long.ts";
import { rpcPath } from "../support/operations.ts";
import { envelope, readGrpcOutcome } from "../support/rpc-wire.ts";
import { type MintedKey, serve, startServer, type TestServer } from "../support/server.ts";

const connectionsEach = 32;

/** So many that the refusals of all connections do not ban. */
const perMinute = amount(1_000, 10_000);

/** What an answer says of the limits. */
interface Told {
  /** The code of a refusal; undefined for a request that was admitted. */
  readonly code: string | undefined;
  /** Unix seconds: it names the window. */
  readonly reset: number;
  readonly remaining: number;
  readonly retryAfterSeconds: number;
  /** Whether the client had waited as long as it had been told to. */
  readonly hasWaited: boolean;
  readonly atMs: number;
}

/** One client, which heeds Retry-After, and connects again when the server has gone. */
class PoliteClient {
  readonly told: Told[] = [];
  readonly #protocol: "REST" | "gRPC";
  readonly #key: string;
  readonly #end = new AbortController();

  constructor(protocol: "REST" | "gRPC", key: string) {
    this.#protocol = protocol;
    this.#key = key;
  }

  stop(): void {
    this.#end.abort();
  }

  async run(server: () => TestServer): Promise<void> {
    const { signal } = this.#end;
    let hasWaited = false;
    while (!signal.aborted) {
      const client = this.#protocol === "REST" ? createHttp1Client(server()) : createHttp2Client(server());
      try {
        while (!signal.aborted) {
          const told = await this.#ask(client, hasWaited);
          this.told.push(told);
          hasWaited = !isAdmitted(told);
          await setTimeout(told.retryAfterSeconds * 1_000 || 10, undefined, { signal });
        }
      } catch {
        // The server has gone, and comes back; or nobody wants to know more.
        await setTimeout(50);
      } finally {
        client.close();
      }
    }
  }

  async #ask(client: HttpClient, hasWaited: boolean): Promise<Told> {
    const authorization = `Bearer ${this.#key}`;
    const rest = { method: "GET", path: "/v1/pets/7", headers: { authorization } };
    const headers = { authorization, "content-type": "application/grpc", te: "trailers" };
    const grpc = { method: "POST", path: rpcPath("getPet"), headers, body: envelope(Buffer.of(8, 7)) };
    const answer = await client.send(this.#protocol === "REST" ? rest : grpc);
    return { ...this.#read(answer), hasWaited, atMs: Date.now() };
  }

  #read(answer: HttpAnswer): Omit<Told, "hasWaited" | "atMs"> {
    const { failure } = this.#protocol === "REST" ? restOutcome(answer) : readGrpcOutcome(answer);
    return {
      code: failure === undefined ? undefined : String(failure.code),
      reset: Number(answer.headers.get("x-ratelimit-reset")),
      remaining: Number(answer.headers.get("x-ratelimit-remaining")),
      retryAfterSeconds: Number(answer.headers.get("retry-after") ?? 0),
    };
  }
}

function isAdmitted({ code }: Told): boolean {
  return code === undefined;
}

function restOutcome({ status, text }: HttpAnswer): { failure?: { code: string } } {
  return status === 200 ? {} : { failure: JSON.parse(text) };
}

let server: TestServer;

afterEach(() => server?.stop());

/** Has 64 clients ask while something is done with the server. Returns what they were told, by windows. */
async function askWhile(key: MintedKey, work: (told: () => readonly Told[]) => Promise<void>): Promise<Told[][]> {
  const clients = (["REST", "gRPC"] as const).flatMap((protocol) =>
    Array.from({ length: connectionsEach }, () => new PoliteClient(protocol, key.key)),
  );
  const running = Promise.all(clients.map((client) => client.run(() => server)));
  const told = () => clients.flatMap((client) => client.told);
  await work(told);
  for (const client of clients) {
    client.stop();
  }
  await running;
  expect(told().filter(({ code }) => code !== undefined && code !== "RATE_LIMIT_EXCEEDED")).toEqual([]);
  return Object.values(Object.groupBy(told(), ({ reset }) => reset)) as Told[][];
}

async function restart(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const { port } = server;
  await server.end(signal);
  server = await serve(server.store, { flags: ["--port", String(port)] });
}

/** Never one more than the plan says, and never one refused while there is one left. */
function expectExact(windows: readonly (readonly Told[])[]): void {
  for (const window of windows) {
    const remainders = window.filter(isAdmitted).map(({ remaining }) => remaining);
    expect(new Set(remainders).size, "each admitted request is told another remainder").toBe(remainders.length);
    expect(remainders.length).toBeLessThanOrEqual(perMinute);
    if (!window.every(isAdmitted)) {
      expect(remainders.length, "admitted before the first is refused").toBe(perMinute);
    }
  }
}

const isUsedUp = (told: readonly Told[]) => told.filter((each) => !isAdmitted(each)).length >= connectionsEach;

it("admits exactly the plan over restarts", { timeout: 120_000 }, async () => {
  server = await startServer();
  const key = await server.store.mintQuota(perMinute, 1_000_000);
  const windows = await askWhile(key, async (told) => {
    for (const share of [0.25, 0.5, 0.75]) {
      await until(async () => told().length >= share * perMinute, 60_000);
      await restart("SIGTERM");
    }
    await until(async () => isUsedUp(told()), 60_000);
  });
  expectExact(windows);
  expect(windows.flat().length).toBeGreaterThan(perMinute);
});

it("forgets no more than a second of counting in a kill -9", { timeout: 120_000 }, async () => {
  server = await startServer();
  const key = await server.store.mintQuota(perMinute, 1_000_000);
  const killedAtMs: number[] = [];
  const windows = await askWhile(key, async (told) => {
    for (const share of [0.4, 0.8]) {
      await until(async () => told().length >= share * perMinute, 60_000);
      killedAtMs.push(Date.now());
      await restart("SIGKILL");
    }
    await until(async () => isUsedUp(told()), 60_000);
  });
  for (const window of windows) {
    const admitted = window.filter(isAdmitted);
    const forgettable = admitted.filter(({ atMs }) => killedAtMs.some((ms) => ms - 1_000 <= atMs && atMs <= ms + 100));
    expect(admitted.length).toBeLessThanOrEqual(perMinute + forgettable.length);
  }
  expect(killedAtMs).toHaveLength(2);
});

it.runIf(isLong)(
  "admits exactly the plan in each of three minutes, and all who come back when they are told to",
  {
    timeout: 300_000,
  },
  async ({ annotate }) => {
    server = await startServer();
    const key = await server.store.mintQuota(perMinute, 1_000_000);
    const resets = (told: readonly Told[]) => new Set(told.map(({ reset }) => reset)).size;
    const windows = await askWhile(key, (told) => until(async () => resets(told()) > 3, 240_000));
    expectExact(windows);
    const returned = windows.flat().filter(({ hasWaited }) => hasWaited);
    expect(returned.length).toBeGreaterThanOrEqual(connectionsEach);
    expect(returned.filter((told) => !isAdmitted(told))).toEqual([]);
    await annotate(`${windows.map((window) => window.length).join(", ")} requests; ${returned.length} came back`);
  },
);
