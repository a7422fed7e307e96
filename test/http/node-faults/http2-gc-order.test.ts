import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { it } from "vitest";
import { expectFault, nodeMajor } from "./bare-node.ts";

it.runIf(nodeMajor >= 26)("Node aborts when it frees an HTTP/2 session before a stream with headers", async () => {
  const script = new URL("abort-by-gc.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--expose-gc", script], { stdio: ["ignore", "ignore", "pipe"] });
  const [[, signal], errors] = await Promise.all([once(child, "exit"), text(child.stderr)]);
  const isAborted = signal === "SIGABRT" && errors.includes("current_nghttp2_memory_");
  expectFault(isAborted, "src/http/node-faults/http2-gc-order.ts");
});
