import { Cluster, type Redis } from "ioredis";
import { UnusableValkeyError } from "../rate-limiters.ts";
import { createClient, findHashTags, slotCount, type ValkeyTarget, withoutCommand } from "./client.ts";
import { createScript, type Script } from "./scripts.ts";

/** One run of a script. */
export interface ScriptCall {
  readonly script: Script;
  readonly key: string;
  readonly args: readonly (string | number)[];
}

/** A connection to Valkey that has been found to work. It is never repaired: when it fails, it is closed. */
export interface Connection {
  /** What an operator should know about the server, such as that it keeps nothing on disk. */
  readonly risks: readonly string[];
  /** Aborts when the connection is lost. */
  readonly lost: AbortSignal;
  /** Runs scripts in one round trip. Resolves to their replies; rejects when one of them fails. */
  run(calls: readonly ScriptCall[]): Promise<readonly unknown[]>;
  /** Resolves when the server answers; of a cluster, each master. */
  ping(): Promise<void>;
  close(): void;
}

/**
 * Opens a connection, and gives it up when `signal` aborts. Rejects with `UnusableValkeyError` if the server is too
 * old, or refuses the database, and with another error if it does not answer well.
 */
export async function openConnection(target: ValkeyTarget, signal: AbortSignal): Promise<Connection> {
  let fault: Error | undefined;
  const failed = (error: Error) => {
    // The first error is the cause of all others.
    fault ??= error;
  };
  const client = createClient(target, failed).on("error", failed);
  signal.addEventListener("abort", () => client.disconnect());
  const lost = new AbortController();
  client.on("close", () => lost.abort());
  client.on("end", () => lost.abort());
  try {
    await client.connect();
    await (client instanceof Cluster ? assertWhole(client) : select(client, target.db));
    const info = await client.info();
    assertUsable(info);
    const names = probeNames(client);
    await Promise.all(names.map((name) => assertServes(client, name)));
    const risks = await describeRisks(client, info);
    if (lost.signal.aborted) {
      throw new Error("the connection was lost");
    }
    return {
      risks,
      lost: lost.signal,
      run: (calls) => run(client, calls),
      ping: () => ping(client, names),
      close: () => client.disconnect(),
    };
  } catch (reason) {
    client.disconnect();
    // If there is a `fault`, `reason` says only that the connection is closed.
    throw reason instanceof UnusableValkeyError ? reason : withoutCommand(fault ?? reason);
  }
}

/**
 * Selects a database, which is 0 at first. ioredis does so, too, but goes on in database 0 if the server refuses. Throws
 * `UnusableValkeyError` then: deployments that share a server would count the same addresses.
 */
async function select(client: Redis, db: number): Promise<void> {
  if (db > 0) {
    await client.select(db).catch((reason: Error) => {
      // Any other failure is that of the connection.
      throw /^(ERR|NOPERM)\b/.test(reason.message)
        ? new UnusableValkeyError(`limits cannot use database ${db} of the server: ${reason.message}`)
        : reason;
    });
  }
}

async function assertWhole(cluster: Cluster): Promise<void> {
  const served = cluster.slots.filter(([master]) => master !== undefined).length;
  if (served < slotCount || !String(await cluster.cluster("INFO")).includes("cluster_state:ok")) {
    throw new Error("the cluster does not serve all slots");
  }
}

/** A script that does nothing. */
const trial = createScript("return 1");

/**
 * Throws if the server refuses writes, as a replica does, or one whose memory or disk is full. Throws, too, if it refuses
 * the user a command that the link and the scripts need. They are called one by one, because Redis 7.0 does not say
 * which command of a script it refuses.
 */
async function assertServes(client: Redis | Cluster, text: string): Promise<void> {
  const places = `${text}:places`;
  await Promise.all([
    client.set(text, "", "PX", 1),
    client.get(text),
    client.eval(trial.source, 1, text),
    client.evalsha(trial.sha, 1, text),
    // Deletes what another program has written there.
    client.pexpire(places, 0),
    client.zadd(places, 0, "probe"),
    client.zcard(places),
    client.zremrangebyscore(places, 0, 0),
    client.zrem(places, "probe"),
    client.time(),
    client.ping(),
  ]);
}

/** The names of the values that are written on trial: in a cluster one for each master, as each may refuse writes. */
function probeNames(client: Redis | Cluster): string[] {
  const name = "petstore:probe";
  return client instanceof Cluster ? findHashTags(client.slots).map((tag) => `${name}:{${tag}}`) : [name];
}

/** Asks every master of a cluster for its value of a trial, as each may be away. */
async function ping(client: Redis | Cluster, names: readonly string[]): Promise<void> {
  try {
    await (client instanceof Cluster ? Promise.all(names.map((name) => client.get(name))) : client.ping());
  } catch (reason) {
    throw withoutCommand(reason);
  }
}

async function run(client: Redis | Cluster, calls: readonly ScriptCall[]): Promise<readonly unknown[]> {
  const results = await send(client, calls, "evalsha");
  const unknown = results.flatMap(([error], index) => (isUnknownScript(error) ? [index] : []));
  if (unknown.length > 0) {
    // A new or restarted server does not know the scripts yet. It has run nothing.
    const again = await send(
      client,
      unknown.map((index) => calls[index] as ScriptCall),
      "eval",
    );
    for (const [position, index] of unknown.entries()) {
      results[index] = again[position] as Result;
    }
  }
  return results.map(([error, reply]) => {
    if (error !== null) {
      throw withoutCommand(error);
    }
    return reply;
  });
}

type Result = [error: Error | null, reply: unknown];

/** Sends all calls before it waits for the first reply. Never rejects for the error of a single call. */
async function send(
  client: Redis | Cluster,
  calls: readonly ScriptCall[],
  command: "eval" | "evalsha",
): Promise<Result[]> {
  if (client instanceof Cluster) {
    // In a cluster, the keys of a pipeline must be on one node.
    return await Promise.all(
      calls.map(({ script, key, args }) =>
        client[command](textOf(script, command), 1, key, ...args).then(
          (reply): Result => [null, reply],
          (error: Error): Result => [error, undefined],
        ),
      ),
    );
  }
  const pipeline = client.pipeline();
  for (const { script, key, args } of calls) {
    pipeline[command](textOf(script, command), 1, key, ...args);
  }
  return (await pipeline.exec()) ?? [];
}

function textOf({ source, sha }: Script, command: "eval" | "evalsha"): string {
  return command === "eval" ? source : sha;
}

function isUnknownScript(error: Error | null): boolean {
  return error?.message.startsWith("NOSCRIPT") === true;
}

/** Redis 7.0, or Valkey, which calls itself Redis 7.2 here, whatever its own version. */
const oldestMajor = 7;

/** Throws `UnusableValkeyError` for a server that is older than Redis 7. `info` is what `INFO` says. */
function assertUsable(info: string): void {
  const version = fieldOf(info, "redis_version") ?? "an unknown version";
  if (!(Number.parseInt(version, 10) >= oldestMajor)) {
    throw new UnusableValkeyError(
      `limits need Redis ${oldestMajor} or newer, or Valkey; the server is Redis ${version}`,
    );
  }
}

/** Lists what can make the server lose counts and bans. */
async function describeRisks(client: Redis | Cluster, info: string): Promise<string[]> {
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

/**
 * Whether the server saves snapshots; true if it does not say. Managed services forbid `CONFIG`, and tell their users
 * about persistence themselves.
 */
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
