import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const file = "src/cli/undici-by-import.ts";

/** Whether a process has loaded undici when it has run a script. */
async function loadsUndici(script: string): Promise<boolean> {
  const asks = `process.stdout.write(String(process.moduleLoadList.some((name) => name.endsWith("deps/undici/undici"))))`;
  const args = ["--input-type=module", "--eval", `${script}; ${asks}`];
  return (await promisify(execFile)(process.execPath, args)).stdout === "true";
}

it("Node loads undici for an import of node:http", async () => {
  const isThere = await loadsUndici(`await import("node:http")`);
  expect(isThere, `Node ${process.version} has mended this fault. What can go: ${file}`).toBe(true);
});

it("does not load undici for a server", async () => {
  const url = JSON.stringify(new URL(`../../${file}`, import.meta.url).href);
  const kept = `(await import(${url})).preventUndiciLoad()`;
  expect(await loadsUndici(`${kept}; await import("node:http"); await import("node:https")`)).toBe(false);
  expect(await loadsUndici(`${kept}; await import("node:http"); new Headers()`)).toBe(true);
});
