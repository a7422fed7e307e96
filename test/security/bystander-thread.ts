import { setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { ApiClient } from "../support/clients/client.ts";
import { protocols } from "../support/clients/protocols.ts";

/** How long a client waits between two calls, in milliseconds: enough calls for a percentile, and no load. */
const paceMs = 5;

/** The first calls open the connection, and compile the code of both sides. */
const warmUpCalls = 30;

const { origin, key, names } = workerData as { origin: string; key: string; names: readonly string[] };
const clients = protocols.filter(({ name }) => names.includes(name)).map((protocol) => protocol.open({ origin }));
let latencies: number[] = [];
let failures: string[] = [];

/** Lists the inventory over one connection, and notes how that went. */
async function list(client: ApiClient): Promise<void> {
  const start = performance.now();
  const { failure } = await client.call("listInventory", {}, { key }).catch((error: unknown) => ({ failure: error }));
  latencies.push(performance.now() - start);
  if (failure !== undefined) {
    failures.push(failure instanceof Error ? String(failure) : JSON.stringify(failure));
  }
}

for (let made = 0; made < warmUpCalls; made++) {
  await Promise.all(clients.map(list));
}

/** The calls that are under way. */
const running: Promise<void>[] = [];

async function listForEver(client: ApiClient, index: number): Promise<never> {
  for (;;) {
    running[index] = list(client);
    await running[index];
    await setTimeout(paceMs);
  }
}

/** Tells what has been seen since the last time, and of calls that are under way what they come to. */
async function tell(): Promise<void> {
  await Promise.all(running);
  parentPort?.postMessage({ latencies, failures });
  latencies = [];
  failures = [];
}

parentPort?.on("message", () => void tell());
void Promise.all(clients.map(listForEver));
parentPort?.postMessage("ready");
