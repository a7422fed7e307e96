/**
 * Watchers of the stock over Server-Sent Events. Some of them do not read. The first ones of those that read measure
 * how old each change is when it arrives, counted from the arrival of its request, and whether any change is missing.
 *
 *     node bench/load/watch.ts ORDER
 *
 * It prints `open` once all streams are open, and its result when its stdin ends.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Latencies } from "./latencies.ts";

/** The input of a run of watchers. */
export interface WatchOrder {
  readonly origin: string;
  /** Enough for all watchers, at 32 each. */
  readonly keys: readonly string[];
  /** The cursor after which all of them begin. */
  readonly after: string;
  readonly watchers: number;
  /** How many more open a stream, and never read from it. */
  readonly stalled: number;
}

/** What the watchers have seen. */
export interface WatchResult {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How many arrivals were measured. */
  readonly arrivals: number;
  /** Changes that were missing, told twice or out of order. */
  readonly faults: number;
  readonly megabytes: number;
  readonly cpuSeconds: number;
}

/** How many watchers parse what they read. To parse everything would cost more than to send it. */
const observers = 20;

const streamsOfKey = 32;

const { origin, keys, after, watchers, stalled } = JSON.parse(process.argv[2] ?? "") as WatchOrder;
const { hostname, port, host } = new URL(origin);
const ages = new Latencies();
let faults = 0;
let bytes = 0;

const sockets = await Promise.all(
  Array.from({ length: watchers + stalled }, (_, index) => open(index, keys[Math.floor(index / streamsOfKey)] ?? "")),
);
console.log("open");
process.stdin.resume();
await once(process.stdin, "end");
for (const socket of sockets) {
  socket.destroy();
}
const { user, system } = process.cpuUsage();
const result: WatchResult = {
  p50Ms: ages.percentile(0.5) / 1000,
  p99Ms: ages.percentile(0.99) / 1000,
  arrivals: ages.count,
  faults,
  megabytes: bytes / 1e6,
  cpuSeconds: (user + system) / 1e6,
};
console.log(JSON.stringify(result));

/** Opens a stream behind the newest change. Resolves once its head has come. */
async function open(index: number, key: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const observe = index < observers ? createObserver() : undefined;
  const buffer = Buffer.allocUnsafe(1 << 16);
  let isOpen = false;
  const socket: Socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer,
      callback(length) {
        if (!isOpen) {
          isOpen = true;
          const head = buffer.toString("latin1", 0, length);
          if (head.startsWith("HTTP/1.1 200")) {
            resolve(socket);
          } else {
            reject(new Error(head));
          }
          return index < watchers;
        }
        bytes += length;
        observe?.(buffer.toString("latin1", 0, length));
        return true;
      },
    },
  });
  socket.once("error", reject);
  const head = [
    `GET /v1/inventory/changes:watch?after=${after} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${key}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  return await promise;
}

/** Reads the pieces of one stream. */
function createObserver(): (piece: string) => void {
  let unread = "";
  let newest: number | undefined;
  return (piece) => {
    const events = (unread + piece).split("\n\n");
    unread = events.pop() ?? "";
    const nowMs = performance.timeOrigin + performance.now();
    for (const event of events) {
      const [, revision, occurredAt] = /"revision":"?(\d+).*"occurredAt":"([^"]+)"/.exec(event) ?? [];
      if (revision !== undefined && occurredAt !== undefined) {
        faults += newest === undefined || Number(revision) === newest + 1 ? 0 : 1;
        newest = Number(revision);
        ages.add((nowMs - Date.parse(occurredAt)) * 1000);
      }
    }
  };
}
