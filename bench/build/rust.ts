import { join } from "node:path";
import { cacheFolder } from "../cache-folder.ts";
import { projectRoot } from "../project.ts";
import { runTool } from "./run-tool.ts";

/** Builds the peer in Rust. Returns its program. What has not changed is in the folder of the last build. */
export async function buildRustPeer(): Promise<string> {
  const target = join(cacheFolder, "rust");
  const flags = ["--release", "--locked", "--target-dir", target];
  await runTool(["cargo", "build", ...flags], join(projectRoot, "bench/contenders/rust"));
  return join(target, "release/peer");
}
