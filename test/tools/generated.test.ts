import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

it("has committed what buf makes of the protos", async () => {
  await run(process.execPath, [join(root, "tools/gather-protos.ts")]);
  const { stderr } = await run(process.execPath, [join(root, "tools/check-generated.ts")]);
  expect(stderr).toBe("");
});
