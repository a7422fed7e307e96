import { join } from "node:path";
import type { H2Options } from "./h2.ts";
import { type Load, nodeLoad } from "./load.ts";
import type { OpenLoopOptions } from "./open-loop.ts";

/** gRPC calls over 8 connections with 16 streams each. */
export function grpcLoad(method: H2Options["method"]): Load {
  return nodeLoad(join(import.meta.dirname, "h2.ts"), { method } satisfies H2Options);
}

/** Requests over HTTP/1.1 at a fixed rate. */
export function openLoop(options: OpenLoopOptions): Load {
  return nodeLoad(join(import.meta.dirname, "open-loop.ts"), options);
}
