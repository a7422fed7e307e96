import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { hasTools } from "../support/installed.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

it.skipIf(!hasTools)("has committed what buf makes of the protos (skipped without npm run tools)", async () => {
  await run(process.execPath, [join(root, "tools/gather-protos.ts")]);
  const { stderr } = await run(process.execPath, [join(root, "tools/check-generated.ts")]);
  expect(stderr).toBe("");
});
