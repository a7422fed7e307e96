/**
 * Load of gRPC `UpdateInventory` calls over 8 connections with 16 streams each: as `h2load`, but with another quantity
 * in every request.
 *
 *     node bench/load/h2.ts ORDER
 */
import { readFileSync } from "node:fs";
import { writeUpdate } from "./grpc-update.ts";
import { type CallSource, H2Connection } from "./h2-connection.ts";
import { encodeHeaders } from "./hpack.ts";
import { Latencies } from "./latencies.ts";
import type { LoadOrder } from "./load.ts";
import { printResult } from "./result.ts";

const connections = 8;
const streams = 16;

const { origin, key, seconds, idsFile, firstQuantity } = JSON.parse(process.argv[2] ?? "") as LoadOrder;
const ids = Float64Array.from(readFileSync(idsFile, "utf8").trim().split("\n"), Number);
const latencies = new Latencies();
let sent = 0;
let failures = 0;
let isOver = false;

const source: CallSource = {
  blocks: encodeHeaders([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/petstore.v1.InventoryService/UpdateInventory"],
    [":authority", new URL(origin).host],
    ["te", "trailers"],
    ["content-type", "application/grpc"],
    ["user-agent", "grpc-bench"],
    ["authorization", `Bearer ${key}`],
  ]),
  writePayload(target, offset) {
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
printResult(latencies, failures, startedAtMs);
