import { execFile, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createFolder } from "../support/folder.ts";

const file = "src/cli/node-faults.ts";

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
    const mended = `Node ${process.version} has mended this fault. What can go: writeWhole in ${file}`;
    expect(writeTooMuch(""), mended).toEqual({ code: 0, size: 512 });
  });

  it("makes stdout fail", () => {
    const url = JSON.stringify(new URL(`../../${file}`, import.meta.url).href);
    const whole = `(await import(${url})).writeWhole(process.stdout)`;
    expect(writeTooMuch(whole)).toEqual({ code: 7, size: 512 });
  });
});

/** Whether a process has loaded undici when it has run a script. */
async function loadsUndici(script: string): Promise<boolean> {
  const asks = `process.stdout.write(String(process.moduleLoadList.some((name) => name.endsWith("deps/undici/undici"))))`;
  const args = ["--input-type=module", "--eval", `${script}; ${asks}`];
  return (await promisify(execFile)(process.execPath, args)).stdout === "true";
}

it("Node loads undici for an import of node:http", async () => {
  const isThere = await loadsUndici(`await import("node:http")`);
  expect(isThere, `Node ${process.version} has mended this fault. What can go: preventUndiciLoad in ${file}`).toBe(
    true,
  );
});

it("does not load undici for a server", async () => {
  const url = JSON.stringify(new URL(`../../${file}`, import.meta.url).href);
  const kept = `(await import(${url})).preventUndiciLoad()`;
  expect(await loadsUndici(`${kept}; await import("node:http"); await import("node:https")`)).toBe(false);
  expect(await loadsUndici(`${kept}; await import("node:http"); new Headers()`)).toBe(true);
});
