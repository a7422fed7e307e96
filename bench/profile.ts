import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Contenders } from "./contender.ts";
import { copyStore, type DataSet } from "./data-set.ts";
import type { Load } from "./load/load.ts";
import type { Plan } from "./measure.ts";
import { orderFor } from "./serve-copy.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** A load under which the service is profiled. */
export interface ProfiledLoad {
  readonly name: string;
  readonly load: Load;
}

/** What the service is profiled with. */
export interface ProfileSetting {
  readonly contenders: Pick<Contenders, "service">;
  readonly city: DataSet;
  readonly directory: string;
}

/** Where the service's time goes under a load. */
export interface Profile {
  readonly name: string;
  /** CPU µs a request, by who uses them. */
  readonly costs: Costs;
}

/** Profiles the service under one load after the other. */
export async function profileService(
  loads: readonly ProfiledLoad[],
  setting: ProfileSetting,
  plan: Plan,
): Promise<Profile[]> {
  const profiles: Profile[] = [];
  for (const { name, load } of loads) {
    profiles.push({ name, costs: await profile(load, setting, plan) });
  }
  return profiles;
}

/** What can use the main thread's time, as a profile reports it. */
const owners = [
  "the service's code",
  "packages' code",
  "Node's JavaScript",
  "native functions, such as socket writes",
  "other native code, the kernel's too",
  "garbage collector",
] as const;
type Owner = (typeof owners)[number];

/** The other threads, by the names that Node and V8 give them, without the profiler's own. */
const threads = { "the writer's thread": "WorkerThread", "V8's threads, which help the collector": "node-V8Worker" };
type ThreadTitle = keyof typeof threads;
const threadTitles = Object.keys(threads) as ThreadTitle[];

export type Costs = Record<Owner | ThreadTitle, number>;

async function profile(
  load: Load,
  { contenders, city, directory }: ProfileSetting,
  { warmUpSeconds, profiledSeconds }: Plan,
): Promise<Costs> {
  const folder = mkdtempSync(join(directory, "profile-"));
  const profiler = ["--cpu-prof", "--cpu-prof-dir", folder, "--cpu-prof-name", profileName];
  const db = copyStore(city, join(folder, "pets.db"));
  const server = await startServer({ args: [...profiler, ...contenders.service.args(db)] });
  try {
    const served = { data: city, server };
    await load(orderFor(served, warmUpSeconds));
    const startUs = monotonicUs();
    const threadsBefore = threadSeconds(server);
    const { requests } = await load(orderFor(served, profiledSeconds));
    const threadsAfter = threadSeconds(server);
    const endUs = monotonicUs();
    // Node writes the main thread's profile only when it exits by itself.
    await server.stop("SIGTERM");
    const ownersUs = mainThreadUs(JSON.parse(readFileSync(join(folder, profileName), "utf8")), { startUs, endUs });
    const threadsUs = threadTitles.map((title, index) => {
      return [title, ((threadsAfter[index] ?? 0) - (threadsBefore[index] ?? 0)) * 1e6] as const;
    });
    const costs = [...ownersUs, ...threadsUs].map(([title, us]) => [title, us / requests]);
    return Object.fromEntries(costs);
  } finally {
    await server.stop();
  }
}

const profileName = "main.cpuprofile";

function threadSeconds(server: ServerProcess): number[] {
  return Object.values(threads).map((name) => server.threadCpuSeconds(name));
}

/** The clock of V8's profiles. */
function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Source: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile */
interface CpuProfile {
  readonly startTime: number;
  readonly nodes: readonly { id: number; callFrame: { functionName: string; url: string } }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface Window {
  readonly startUs: number;
  readonly endUs: number;
}

/** The time of each user within the window, in µs. */
function mainThreadUs({ startTime, nodes, samples, timeDeltas }: CpuProfile, window: Window): Map<Owner, number> {
  const ownersById = new Map(nodes.map(({ id, callFrame }) => [id, ownerOf(callFrame)]));
  const spent = new Map<Owner, number>(owners.map((owner) => [owner, 0]));
  let atUs = startTime;
  for (const [index, id] of samples.entries()) {
    const deltaUs = timeDeltas[index] ?? 0;
    const owner = ownersById.get(id);
    atUs += deltaUs;
    if (owner !== undefined && atUs >= window.startUs && atUs <= window.endUs) {
      spent.set(owner, (spent.get(owner) ?? 0) + deltaUs);
    }
  }
  return spent;
}

/** Undefined while the thread waits. */
function ownerOf({ functionName, url }: { functionName: string; url: string }): Owner | undefined {
  switch (functionName) {
    case "(idle)":
      return undefined;
    case "(garbage collector)":
      return "garbage collector";
    case "(program)":
    case "(root)":
      return "other native code, the kernel's too";
  }
  if (url.startsWith("node:")) {
    return "Node's JavaScript";
  }
  if (url.includes("/node_modules/")) {
    return "packages' code";
  }
  return url === "" ? "native functions, such as socket writes" : "the service's code";
}
