import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { AbstractConnector, Cluster, Redis, type RedisOptions } from "ioredis";

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

/**
 * Creates a client that never reconnects and never repeats a command: otherwise nobody would know what has been
 * counted. Calls `failed` with each error of a socket.
 */
export function createClient(target: ValkeyTarget, failed: (error: Error) => void): Redis | Cluster {
  const { host, port, username, password, db, isTls } = target;
  const options = {
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    // An unknown certificate is refused, whatever Node is told.
    ...(isTls && { tls: { rejectUnauthorized: true } }),
    Connector: createConnector(failed),
    lazyConnect: true,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectionName: "petstore",
  };
  if (!target.isCluster) {
    return new Redis({ ...options, host, port, enableOfflineQueue: false, retryStrategy: () => null });
  }
  const cluster = new Cluster([{ host, port }], {
    redisOptions: options,
    lazyConnect: true,
    // The first command for a node connects to it. Without a queue, ioredis refuses those that come in the meantime.
    enableOfflineQueue: true,
    // The opening of a connection checks itself whether the cluster serves. ioredis would not tell that it does not.
    enableReadyCheck: false,
    clusterRetryStrategy: () => null,
    // By default, ioredis sends what a lost node has not answered to another one.
    retryDelayOnFailover: 0,
    // By default, ioredis repeats for longer than we wait what a cluster that is down refuses.
    retryDelayOnClusterDown: 0,
    // The names of a cluster's nodes are not resolved to addresses, because a certificate contains names.
    dnsLookup: (address, callback) => callback(null, address),
  });
  cluster.on("+node", ignoreFailedAsking);
  return cluster;
}

/**
 * ioredis sends `ASKING` before a command for a slot that is moving, and awaits no answer: a failure would end the
 * process. The command itself fails with it.
 */
function ignoreFailedAsking(node: Redis): void {
  const asking = node.asking.bind(node);
  node.asking = () => asking().catch(() => "OK");
}

/** Creates what opens the sockets of a client, and of those that a cluster's client makes for its nodes. */
function createConnector(failed: (error: Error) => void) {
  return class extends AbstractConnector {
    readonly #options: RedisOptions;

    constructor(options: unknown) {
      const redisOptions = options as RedisOptions;
      super(redisOptions.disconnectTimeout as number);
      this.#options = redisOptions;
    }

    override async connect(): Promise<Socket> {
      const { host = "", port = defaultPort, tls } = this.#options;
      // A server of several names shows the certificate of the one that it is told. ioredis tells none.
      const servername = isIP(host) === 0 ? host.replace(/\.$/, "") : "";
      this.stream = tls === undefined ? connectTcp({ host, port }) : connectTls({ ...tls, host, port, servername });
      // ioredis listens for a socket's first error alone. A second one, such as an alert of TLS, would end the process.
      this.stream.on("error", (error) => failed(causeOf(error)));
      return this.stream;
    }
  };
}

/** The first error of those for each address of a host; together they have no message. */
function causeOf(error: Error): Error {
  return error instanceof AggregateError ? error.errors[0] : error;
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

/** How many slots a cluster has. */
export const slotCount = 16_384;

/** Finds a hash tag for each master. Of each slot, `slots` has the nodes, the master first. */
export function findHashTags(slots: readonly (readonly string[])[]): number[] {
  const masters = new Set(slots.flatMap(([master]) => master ?? []));
  const tags: number[] = [];
  for (let tag = 0; masters.size > 0; tag += 1) {
    const [master = ""] = slots[slotOf(String(tag))] ?? [];
    if (masters.delete(master)) {
      tags.push(tag);
    }
  }
  return tags;
}

/**
 * The slot of a hash tag: its CRC-16/XMODEM, modulo the number of slots.
 *
 * Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#key-distribution-model
 */
function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 0x8000) === 0 ? crc << 1 : ((crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc % slotCount;
}
