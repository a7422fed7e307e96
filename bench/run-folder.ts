import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a folder for the bench's process, which goes with it. A signal ends the process so that its children end, too. */
export function makeRunFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "petstore-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => process.exit(1));
  }
  return folder;
}
