import { join } from "node:path";
import type { Load } from "./load.ts";
import { runLoad } from "./load.ts";

/** The requests that `requests.lua` can make. */
export type RequestKind = "patch" | "keyed" | "adjust" | "batch" | "connect" | "list" | "page";

const script = join(import.meta.dirname, "requests.lua");

/**
 * Load by `wrk`, on one thread. Its latencies are corrected for the requests that a stalled connection could not send.
 */
export function wrkLoad(kind: RequestKind, connections: number): Load {
  return async ({ origin, key, seconds, idsFile, firstQuantity }) => {
    const flags = ["--threads", "1", "--connections", String(connections), "--duration", `${seconds}s`];
    const order = [kind, key, idsFile, String(firstQuantity)];
    const stdout = await runLoad("wrk", [...flags, "--timeout", "10s", "--script", script, origin, "--", ...order]);
    const result = stdout.split("\n").find((line) => line.startsWith("{"));
    if (result === undefined) {
      throw new Error(`wrk printed no result: ${stdout}`);
    }
    return JSON.parse(result);
  };
}
