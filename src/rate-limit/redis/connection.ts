import { Cluster, Redis } from "ioredis";
import type { Script } from "./scripts.ts";
import { assertUsable, describeRisks } from "./server-info.ts";
import { clientOptions, type ValkeyTarget } from "./target.ts";

/** One run of a script. */
export interface ScriptCall {
  readonly script: Script;
  readonly key: string;
  readonly args: readonly (string | number)[];
}

/** A connection to Valkey that has been found to work. It is never repaired: when it fails, it is closed. */
export interface Connection {
  /** What an operator should know of the server, such as that it keeps nothing. */
  readonly risks: readonly string[];
  /** Aborts when the connection is lost. */
  readonly lost: AbortSignal;
  /** Runs scripts in one round trip. Resolves to their replies; rejects when one of them fails. */
  run(calls: readonly ScriptCall[]): Promise<readonly unknown[]>;
  /** Resolves when the server answers. */
  ping(): Promise<unknown>;
  close(): void;
}

/**
 * Opens a connection, and gives it up when `signal` aborts. Rejects with `UnusableValkeyError`, and when nobody answers
 * well.
 */
export async function openConnection(target: ValkeyTarget, signal: AbortSignal): Promise<Connection> {
  const client = createClient(target);
  signal.addEventListener("abort", () => client.disconnect());
  const lost = new AbortController();
  let fault: Error | undefined;
  client.on("error", (error: Error) => {
    fault = error;
  });
  client.on("close", () => lost.abort());
  client.on("end", () => lost.abort());
  try {
    await client.connect();
    const info = await client.info();
    assertUsable(info);
    if (client instanceof Cluster) {
      await assertWhole(client);
    }
    return {
      risks: await describeRisks(client, info),
      lost: lost.signal,
      run: (calls) => run(client, calls),
      ping: () => client.ping(),
      close: () => client.disconnect(),
    };
  } catch (reason) {
    client.disconnect();
    // The reason says only that the connection is closed.
    throw withoutCommand(fault ?? reason);
  }
}

/** ioredis never reconnects and never repeats a command here: nobody would know what has been counted. */
function createClient(target: ValkeyTarget): Redis | Cluster {
  const options = {
    ...clientOptions(target),
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectionName: "petstore",
  };
  if (!target.isCluster) {
    return new Redis({ ...options, retryStrategy: () => null });
  }
  const { host, port, enableOfflineQueue: _, ...redisOptions } = options;
  return new Cluster([{ host, port }], {
    redisOptions,
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: () => null,
    // A certificate names hosts; the addresses of a cluster's nodes are not to be looked up again.
    dnsLookup: (address, callback) => callback(null, address),
  });
}

async function assertWhole(cluster: Cluster): Promise<void> {
  const info = await cluster.cluster("INFO");
  if (!String(info).includes("cluster_state:ok")) {
    throw new Error("the cluster does not serve all slots");
  }
}

async function run(client: Redis | Cluster, calls: readonly ScriptCall[]): Promise<readonly unknown[]> {
  const results = await send(client, calls, "evalsha");
  const unknown = results.flatMap(([error], index) => (isUnknownScript(error) ? [index] : []));
  if (unknown.length > 0) {
    // A server that was restarted, or a new one, has not seen the scripts yet. It has run nothing.
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

/** ioredis puts the command that failed on its errors; that of the login has the password. */
function withoutCommand(error: unknown): unknown {
  return error instanceof Error && "command" in error ? new Error(error.message) : error;
}

type Result = [error: Error | null, reply: unknown];

/** Sends all calls before it waits for the first reply. Never rejects for the error of a single call. */
async function send(
  client: Redis | Cluster,
  calls: readonly ScriptCall[],
  command: "eval" | "evalsha",
): Promise<Result[]> {
  if (client instanceof Cluster) {
    // The keys of a pipeline would have to be on one node.
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
