/** Watchers of the stock while it changes: how old a change is when it arrives, and what they cost others. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { service } from "./contender.ts";
import { createCity, type DataSet } from "./data-set.ts";
import { openLoop } from "./load/node-loads.ts";
import type { WatchOrder, WatchResult } from "./load/watch.ts";
import { projectRoot, runProgram } from "./project.ts";
import { describeMachine } from "./report/machine.ts";
import { table } from "./report/markdown-table.ts";
import { makeRunFolder } from "./run-folder.ts";
import { orderFor } from "./serve-copy.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

const helpText = `Watchers of the stock while it changes, on Linux.

Usage: bin/node bench/watchers.ts [flags]

  --watchers N  how many streams are read (100)
  --stalled N   how many more are open, and are not read (0)
  --rate N      updates a second (2000)
  --seconds N   for how long (10)`;

/** Beside the updates, to see what watchers cost others. */
const readsPerSecond = 200;

const streamsOfKey = 32;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", default: false },
    watchers: { type: "string", default: "100" },
    stalled: { type: "string", default: "0" },
    rate: { type: "string", default: "2000" },
    seconds: { type: "string", default: "10" },
  },
});
const { help, ...texts } = values;
const [watchers, stalled, rate, seconds] = [texts.watchers, texts.stalled, texts.rate, texts.seconds].map(Number) as [
  number,
  number,
  number,
  number,
];
if (help) {
  console.log(helpText);
} else {
  console.log(`${describeMachine()}\n`);
  await run(await createCity(makeRunFolder()));
}

async function run(data: DataSet): Promise<void> {
  const keys = await createKeys(data.db, Math.ceil((watchers + stalled) / streamsOfKey));
  const server = await startServer({ args: service.args(data.db) });
  try {
    const without = await load(server, data);
    const idle = await readMemory(server);
    const { origin } = server;
    const crowd = await openWatchers({ origin, keys, after: await readCursor(origin, data.key), watchers, stalled });
    const open = await readMemory(server);
    const beside = await load(server, data);
    const loaded = await readMemory(server);
    const seen = await crowd.close();
    const perWatcher = (bytes: number) => `${(bytes / 1024 / (watchers + stalled)).toFixed(1)} KB`;
    const growth = ({ kept, resident }: Memory) =>
      `${perWatcher(kept - idle.kept)} of objects and buffers (${perWatcher(resident - idle.resident)} resident)`;
    console.log(
      table(
        [`${watchers} watchers, ${stalled} stalled, ${rate} updates a second`, "p50", "p99"],
        [
          ["from an update's request to its arrival", ms(seen.p50Ms), ms(seen.p99Ms)],
          ["updates beside them", ms(beside.updates.p50Us / 1000), ms(beside.updates.p99Us / 1000)],
          ["updates without them", ms(without.updates.p50Us / 1000), ms(without.updates.p99Us / 1000)],
          ["reads beside them", ms(beside.reads.p50Us / 1000), ms(beside.reads.p99Us / 1000)],
          ["reads without them", ms(without.reads.p50Us / 1000), ms(without.reads.p99Us / 1000)],
        ],
      ),
    );
    console.log(
      [
        `\n${seen.arrivals} arrivals were looked at, ${seen.faults} of them missing, twice or out of order;`,
        `${Math.round(seen.megabytes)} MB were read, by ${seen.cpuSeconds.toFixed(1)} s of the watchers' CPU.`,
        `A watcher takes ${growth(open)} when idle, ${growth(loaded)} after the updates.`,
      ].join("\n"),
    );
  } finally {
    await server.stop();
  }
}

/** Updates at the fixed rate, and reads beside them. */
async function load(server: ServerProcess, data: DataSet) {
  const order = orderFor({ data, server }, seconds);
  const [updates, reads] = await Promise.all([
    openLoop({ kind: "patch", ratePerSecond: rate })(order),
    openLoop({ kind: "read", ratePerSecond: readsPerSecond })(order),
  ]);
  if (updates.failures + reads.failures > 0) {
    throw new Error(`${updates.failures} updates and ${reads.failures} reads have failed`);
  }
  return { updates, reads };
}

async function openWatchers(order: WatchOrder) {
  const args = [join(import.meta.dirname, "load/watch.ts"), JSON.stringify(order)];
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, args, { cwd: projectRoot });
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout });
  await Promise.race([once(lines, "line"), failed(child)]);
  return {
    async close(): Promise<WatchResult> {
      const result = once(lines, "line");
      child.stdin.end();
      const [line] = (await Promise.race([result, failed(child)])) as [string];
      return JSON.parse(line);
    },
  };
}

async function failed(child: ChildProcessWithoutNullStreams): Promise<never> {
  const [code] = await once(child, "exit");
  throw new Error(`the watchers ended with ${code}`);
}

async function createKeys(db: string, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let index = 0; index < count; index += 1) {
    keys.push(JSON.parse(await runProgram("src/main.ts", "keys", "create", "--plan", "pro", "--json", "--db", db)).key);
  }
  return keys;
}

async function readCursor(origin: string, key: string): Promise<string> {
  const { headers } = await fetch(`${origin}/v1/inventory?pageSize=1`, { headers: { authorization: `Bearer ${key}` } });
  return headers.get("x-inventory-cursor") ?? "";
}

/** Of the server, in bytes. */
interface Memory {
  /** What its objects and buffers take. */
  readonly kept: number;
  /** What the process has, including memory that collections have freed and that it keeps for later. */
  readonly resident: number;
}

/** The server's memory after a garbage collection. */
async function readMemory(server: ServerProcess): Promise<Memory> {
  const reading = await server.read("collect");
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8")) ?? [];
  return { kept: reading?.keptBytes ?? NaN, resident: Number(kilobytes) * 1024 };
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}
