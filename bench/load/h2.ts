/**
 * Load of gRPC calls over 8 connections with 16 streams each: as `h2load`, but each `UpdateInventory` sets another
 * quantity.
 *
 *     node bench/load/h2.ts ORDER
 */
import { readFileSync } from "node:fs";
import { writeEmpty, writeUpdate } from "./grpc-payload.ts";
import { type CallSource, H2Connection } from "./h2-connection.ts";
import { encodeHeaders } from "./hpack.ts";
import { Latencies } from "./latencies.ts";
import type { LoadOrder } from "./load.ts";
import { printResult } from "./result.ts";

const connections = 8;
const streams = 16;

/** What the generator needs beside its order. */
export interface H2Options {
  readonly method: "UpdateInventory" | "ListInventory";
}

const order = JSON.parse(process.argv[2] ?? "") as LoadOrder & H2Options;
const { method, origin, key, seconds, idsFile, firstQuantity } = order;
const ids = Float64Array.from(readFileSync(idsFile, "utf8").trim().split("\n"), Number);
const latencies = new Latencies();
let sent = 0;
let failures = 0;
let isOver = false;

const source: CallSource = {
  blocks: encodeHeaders([
    [":method", "POST"],
    [":scheme", new URL(origin).protocol.slice(0, -1)],
    [":path", `/petstore.v1.InventoryService/${method}`],
    [":authority", new URL(origin).host],
    ["te", "trailers"],
    ["content-type", "application/grpc"],
    ["user-agent", "grpc-bench"],
    ["authorization", `Bearer ${key}`],
  ]),
  writePayload(target, offset) {
    if (method === "ListInventory") {
      return writeEmpty(target, offset);
    }
    const end = writeUpdate(target, offset, ids[sent % ids.length] ?? 0, firstQuantity + sent);
    sent += 1;
    return end;
  },
  hasNext: () => !isOver,
  onEnd(latencyUs, isSuccess) {
    latencies.add(latencyUs);
    failures += isSuccess ? 0 : 1;
  },
};

const startedAtMs = performance.now();
setTimeout(() => {
  isOver = true;
}, seconds * 1000);
await Promise.all(Array.from({ length: connections }, () => new H2Connection(origin, source, streams).closed));
printResult({ requests: latencies.count, failures, latencies, startedAtMs });
