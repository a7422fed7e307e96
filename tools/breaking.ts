/**
 * Reports what the protos in the working tree break for callers of an earlier commit: the last one by default. Exit
 * code 1 when anything breaks.
 *
 *     bin/node tools/breaking.ts [COMMIT]
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const commit = process.argv[2] ?? "HEAD";
const earlier = mkdtempSync(join(tmpdir(), "petstore-breaking-"));

try {
  if (git("ls-tree", "--name-only", commit, "proto").length === 0) {
    console.log(`${commit} has no protos: nothing can break.`);
  } else {
    const archive = git("archive", commit, "proto", "buf.yaml");
    execFileSync("tar", ["-x", "-C", earlier], { input: archive });
    // buf needs the imported protos on both sides.
    gatherProtos(root);
    gatherProtos(earlier);
    const buf = join(import.meta.dirname, "node_modules/.bin/buf");
    const { status } = spawnSync(buf, ["breaking", "--against", earlier], { cwd: root, stdio: "inherit" });
    process.exitCode = status ?? 1;
    if (status === 0) {
      console.log(`Nothing breaks for callers of ${commit}.`);
    }
  }
} finally {
  rmSync(earlier, { recursive: true });
}

function git(...args: string[]): Buffer {
  return execFileSync("git", args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
}

function gatherProtos(target: string): void {
  execFileSync(process.execPath, [join(import.meta.dirname, "gather-protos.ts"), target], { stdio: "inherit" });
}
