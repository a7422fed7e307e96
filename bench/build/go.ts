import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../cache-folder.ts";
import { projectRoot, runProgram } from "../project.ts";
import { runTool } from "./run-tool.ts";

/**
 * Builds the peers in Go, with code that buf generates from the project's protos. Returns their program. What has not
 * changed is in Go's own cache.
 */
export async function buildGoPeers(): Promise<string> {
  const folder = join(cacheFolder, "go");
  for (const name of ["proto", "gen"]) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  mkdirSync(folder, { recursive: true });
  cpSync(join(projectRoot, "bench/contenders/go"), folder, { recursive: true });
  cpSync(join(projectRoot, "proto"), join(folder, "proto"), { recursive: true });
  cpSync(join(projectRoot, "buf.yaml"), join(folder, "buf.yaml"));
  await runProgram("tools/gather-protos.ts", folder);
  await runTool([join(projectRoot, "tools/node_modules/.bin/buf"), "generate"], folder);
  await runTool(["go", "build", "-o", "peers", "."], folder);
  return join(folder, "peers");
}
