import { Cluster, Redis } from "ioredis";

/** Where Valkey or Redis is, and how to log in. */
export interface ValkeyTarget {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly isTls: boolean;
  readonly isCluster: boolean;
}

/** Source: https://www.iana.org/assignments/uri-schemes/prov/redis */
const defaultPort = 6379;

/**
 * Reads a URL such as `rediss://user:password@host:6379/0?cluster`. The settings have checked that it is well-formed.
 */
export function parseTarget(text: string): ValkeyTarget {
  const { protocol, hostname, port, username, password, pathname, search } = new URL(text);
  return {
    // URLs write an IPv6 address in brackets.
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port || defaultPort),
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
    db: Number(pathname.slice(1)),
    isTls: protocol === "rediss:",
    isCluster: search === "?cluster",
  };
}

/** The options by which ioredis reaches a target. An unknown certificate is refused, whatever Node is told. */
function clientOptions({ host, port, username, password, db, isTls }: ValkeyTarget) {
  return {
    host,
    port,
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: { rejectUnauthorized: true } }),
  };
}

/**
 * Creates a client that never reconnects and never repeats a command: otherwise nobody would know what has been
 * counted.
 */
export function createClient(target: ValkeyTarget): Redis | Cluster {
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
    // The first command for a node connects to it. Without a queue, ioredis refuses those that come in the meantime.
    enableOfflineQueue: true,
    clusterRetryStrategy: () => null,
    // By default, ioredis sends what a lost node has not answered to another one.
    retryDelayOnFailover: 0,
    // The names of a cluster's nodes are not resolved to addresses, because a certificate contains names.
    dnsLookup: (address, callback) => callback(null, address),
  });
}

/**
 * Ignores what a socket reports after its first error. ioredis listens for the first one alone, and any other would end
 * the process: TLS may report an alert after an untrusted certificate.
 */
export function ignoreFurtherErrors({ stream }: { readonly stream?: Redis["stream"] }): void {
  stream?.on("error", () => {});
}

/**
 * Leaves the failed command out, which ioredis attaches to its errors: the login command contains the password. Where
 * no node of a cluster tells the slots, `error` is what the last one of them answered.
 */
export function withoutCommand(error: unknown): unknown {
  if (error instanceof Error && "lastNodeError" in error && error.lastNodeError !== null) {
    return withoutCommand(error.lastNodeError);
  }
  return error instanceof Error && "command" in error ? new Error(error.message) : error;
}
