import { join } from "node:path";
import type { Load } from "./load.ts";
import { runLoad } from "./load.ts";

/** The requests that `requests.lua` can make. */
export type RequestKind = "patch" | "keyed" | "adjust" | "batch" | "connect" | "list" | "read" | "page";

const script = join(import.meta.dirname, "requests.lua");

/**
 * Load by `wrk`. It has one thread for each server, and divides the connections among the threads. Its latencies are
 * corrected for the requests that a stalled connection could not send.
 */
export function wrkLoad(kind: RequestKind, connections: number): Load {
  return async ({ origin, furtherPorts = [], key, seconds, idsFile, firstQuantity }) => {
    const ports = [new URL(origin).port, ...furtherPorts];
    const threads = ["--threads", String(ports.length), "--connections", String(connections)];
    const flags = [...threads, "--duration", `${seconds}s`, "--timeout", "10s", "--script", script];
    const order = [kind, key, idsFile, String(firstQuantity)];
    const stdout = await runLoad("wrk", [...flags, origin, "--", ...order], { PETSTORE_BENCH_PORTS: ports.join(" ") });
    const result = stdout.split("\n").find((line) => line.startsWith("{"));
    if (result === undefined) {
      throw new Error(`wrk printed no result: ${stdout}`);
    }
    return JSON.parse(result);
  };
}
