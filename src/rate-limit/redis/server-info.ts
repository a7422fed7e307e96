import type { Cluster, Redis } from "ioredis";
import { UnusableValkeyError } from "../unusable-valkey.ts";

/** Redis 7.0, or Valkey, which calls itself Redis 7.2 here, whatever its own version. */
const oldestMajor = 7;

/** Throws `UnusableValkeyError` for a server that is older than Redis 7. `info` is what `INFO` says. */
export function assertUsable(info: string): void {
  const version = fieldOf(info, "redis_version") ?? "an unknown version";
  if (!(Number.parseInt(version, 10) >= oldestMajor)) {
    throw new UnusableValkeyError(
      `limits need Redis ${oldestMajor} or newer, or Valkey; the server is Redis ${version}`,
    );
  }
}

/** Tells what can lose counts and bans. */
export async function describeRisks(client: Redis | Cluster, info: string): Promise<string[]> {
  const risks: string[] = [];
  const policy = fieldOf(info, "maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    risks.push(`it may drop counts when its memory is full: its maxmemory-policy is ${policy}, not noeviction`);
  }
  if (fieldOf(info, "aof_enabled") === "0" && !(await savesSnapshots(client))) {
    risks.push("it keeps nothing on disk: counts and bans are lost when it is restarted");
  }
  return risks;
}

/** Managed services forbid the question. They tell of persistence by themselves. */
async function savesSnapshots(client: Redis | Cluster): Promise<boolean> {
  try {
    const [, save] = (await client.config("GET", "save")) as string[];
    return save !== "";
  } catch {
    return true;
  }
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
}
