import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFolder } from "../support/folder.ts";

const file = "src/cli/whole-output.ts";

/** Runs a script that writes 1,000 bytes to a file that takes 512. Returns its exit code and the file's size. */
function writeTooMuch(script: string): { readonly code: number | null; readonly size: number } {
  const output = join(createFolder(), "output");
  const fails = `process.stdout.on("error", () => process.exit(7)); process.stdout.write("x".repeat(1_000))`;
  const shell = `ulimit -f 1; exec "$0" "$@" >"$OUTPUT"`;
  const args = ["-c", shell, process.execPath, "--input-type=module", "--eval", `${script}; ${fails}`];
  const { status } = spawnSync("sh", args, { env: { ...process.env, OUTPUT: output } });
  return { code: status, size: statSync(output).size };
}

describe.skipIf(process.platform === "win32")("a file that takes a part of a write", () => {
  it("counts for Node as one that takes all", () => {
    const mended = `Node ${process.version} has mended this fault. What can go: ${file}`;
    expect(writeTooMuch(""), mended).toEqual({ code: 0, size: 512 });
  });

  it("makes stdout fail", () => {
    const url = JSON.stringify(new URL(`../../${file}`, import.meta.url).href);
    const whole = `(await import(${url})).writeWhole(process.stdout)`;
    expect(writeTooMuch(whole)).toEqual({ code: 7, size: 512 });
  });
});
