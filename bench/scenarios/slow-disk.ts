import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Contender } from "../contender.ts";
import { copyStore, type DataSet } from "../data-set.ts";
import type { LoadOrder } from "../load/load.ts";
import { openLoop } from "../load/node-loads.ts";
import { wrkLoad } from "../load/wrk.ts";
import { isInstalled } from "../prerequisites.ts";
import { nextQuantity } from "../quantities.ts";
import { type Round, unmeasured } from "../round.ts";
import type { Scenario } from "../scenario.ts";
import { startServer } from "../server-process.ts";

const reads = openLoop({ kind: "read", ratePerSecond: 400 });
const updates = wrkLoad("patch", 64);

/** How long updates run before and after the reads, so that every read competes with updates. */
const marginSeconds = 0.5;

/** The minimum time of an update with the delayed sync. A shorter one means that the library is not loaded. */
const leastUpdateUs = 20_000;

const bystanderName = "bare node:http beside it, 64 clients update";

interface SlowDisk {
  readonly service: Contender;
  /** A server without updates. It shows how much slower the shared machine alone makes reads. */
  readonly bystander: Contender;
  readonly data: DataSet;
  readonly directory: string;
}

/**
 * Reads at a fixed rate from a server whose disk takes 20 ms to sync: alone, and while 64 clients update it. Reads also
 * from a bystander during those updates. Undefined without gcc, which builds the slow disk.
 */
export function slowDisk({ service, bystander, data, directory }: SlowDisk): Scenario | undefined {
  if (!isInstalled("gcc")) {
    return undefined;
  }
  return {
    title: "400 reads a second while the disk takes 20 ms to sync (simulated: LD_PRELOAD delays fsync and fdatasync)",
    targets: [
      { against: "no updates", metric: "p99Us", atMost: 2 },
      { against: bystanderName, metric: "p99Us" },
    ],
    async start(held) {
      const library = join(directory, "slow-sync.so");
      execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", library, join(import.meta.dirname, "slow-sync.c"), "-ldl"]);
      const db = copyStore(data, join(directory, "slow-disk.db"));
      const server = await startServer({ args: service.args(db), environment: { LD_PRELOAD: library } });
      held.defer(() => server.stop());
      const beside = await startServer({ args: bystander.args(db) });
      held.defer(() => beside.stop());
      const order = { ...data, origin: server.origin, firstQuantity: 0 };
      return [
        { name: "64 clients update", run: (seconds) => readWhileUpdating({ ...order, seconds }, server.origin) },
        { name: "no updates", run: (seconds) => read({ ...order, seconds }) },
        {
          name: bystanderName,
          run: (seconds) => readWhileUpdating({ ...order, seconds }, beside.origin),
        },
      ];
    },
  };
}

async function read(order: LoadOrder): Promise<Round> {
  const { requests, failures, seconds, p50Us, p99Us, loadCpuSeconds } = await reads(order);
  if (failures > 0 || requests === 0) {
    throw new Error(`${failures} of ${requests} reads failed`);
  }
  const loadShare = loadCpuSeconds / seconds;
  return { ...unmeasured, requestsPerSecond: requests / seconds, p50Us, p99Us, loadShare };
}

/** Updates the order's server while it reads from the one at `readOrigin`. */
async function readWhileUpdating(order: LoadOrder, readOrigin: string): Promise<Round> {
  const seconds = Math.ceil(order.seconds + 2 * marginSeconds);
  const updating = updates({ ...order, seconds, firstQuantity: nextQuantity() });
  await new Promise((resolve) => setTimeout(resolve, marginSeconds * 1000));
  const [round, { failures, p50Us }] = await Promise.all([read({ ...order, origin: readOrigin }), updating]);
  if (failures > 0) {
    throw new Error(`${failures} updates failed on the slow disk`);
  }
  if (p50Us < leastUpdateUs) {
    throw new Error(`an update took ${p50Us} µs: the slow disk is not in force`);
  }
  return round;
}
