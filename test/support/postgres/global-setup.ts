import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { leftOut } from "../left-out.ts";

/** One cluster serves all files of a test run. It starts with the first test that needs it, and ends here. */
export default function setUp(): () => Promise<void> {
  if (leftOut !== undefined) {
    process.stdout.write(`${leftOut}\n`);
  }
  const folder = mkdtempSync(join(tmpdir(), "petstore-run-"));
  process.env.PETSTORE_TEST_POSTGRES = folder;
  return async () => {
    await endCluster(join(folder, "cluster.json"));
    rmSync(folder, { recursive: true, force: true });
  };
}

async function endCluster(file: string): Promise<void> {
  if (!existsSync(file)) {
    return;
  }
  const cluster = JSON.parse(readFileSync(file, "utf8")) as { readonly pid: number; readonly folder: string };
  try {
    process.kill(cluster.pid, "SIGINT");
    for (let tries = 0; tries < 200; tries += 1) {
      process.kill(cluster.pid, 0);
      await setTimeout(50);
    }
  } catch {
    // It has ended.
  }
  rmSync(cluster.folder, { recursive: true, force: true });
}
