/**
 * The writing thread of a store in a file: what an update costs it, in groups of several sizes. No server is in the way:
 * the store runs in this process, whose main thread gives it the updates.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openSqliteStore, type SqliteStore } from "../src/storage/sqlite/store.ts";
import { readThreadCpuSeconds } from "./cpu-time.ts";
import { copyStore, createCity } from "./data-set.ts";
import { describeMachine } from "./report/machine.ts";
import { table } from "./report/markdown-table.ts";
import { makeRunFolder } from "./run-folder.ts";
import { median } from "./statistics.ts";

const callerCounts = [1, 8, 32, 64, 256];

const rounds = 5;
const warmUpSeconds = 1;
const roundSeconds = 2;

/** As Node names the threads of workers. */
const threadName = "WorkerThread";

const city = await createCity(makeRunFolder());
const petIds = readFileSync(city.idsFile, "utf8").trim().split("\n").map(BigInt);
const rows: string[][] = [];
for (const callers of callerCounts) {
  rows.push(await measure(callers));
}
console.log(`${describeMachine()}\n`);
console.log(table(["callers", "updates in a commit", "CPU µs/update of the thread", "updates/s"], rows));

/** Measures updates by so many callers. Each makes its next update as soon as its last one is durable. */
async function measure(callers: number): Promise<string[]> {
  let commits = 0;
  let written = 0;
  const committed = ({ size }: { readonly size: number }) => {
    commits += 1;
    written += size;
  };
  const store = openSqliteStore(copyStore(city, join(makeRunFolder(), "pets.db")), { committed });
  const update = createUpdates(store);
  await run(update, callers, warmUpSeconds);
  [commits, written] = [0, 0];
  const costs: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = { cpu: readThreadCpuSeconds(process.pid, threadName), written, ms: performance.now() };
    await run(update, callers, roundSeconds);
    const updates = written - before.written;
    costs.push(((readThreadCpuSeconds(process.pid, threadName) - before.cpu) * 1e6) / updates);
    rates.push((updates * 1000) / (performance.now() - before.ms));
  }
  await store.close();
  const perCommit = written / commits;
  return [
    String(callers),
    perCommit.toFixed(1),
    median(costs).toFixed(1),
    Math.round(median(rates)).toLocaleString("en"),
  ];
}

/** Returns what makes an update: each has the next pet, and sets another quantity. */
function createUpdates(store: SqliteStore): () => Promise<unknown> {
  let made = 0;
  return () => {
    made += 1;
    const petId = petIds[made % petIds.length] as bigint;
    const context = { nowMs: Date.now(), keyId: "bench", requestId: `bench-${made}` };
    return store.changeStock({ kind: "set", petId, quantity: BigInt(made) }, context);
  };
}

async function run(update: () => Promise<unknown>, callers: number, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const call = async () => {
    while (performance.now() < end) {
      await update();
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
}
