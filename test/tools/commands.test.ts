import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { hasTools } from "../support/installed.ts";
import { projectRoot } from "../support/petstore.ts";

const run = promisify(execFile);

it.skipIf(!hasTools)("npm run breaking says when nothing breaks (skipped without npm run tools)", async () => {
  const { stdout } = await run(process.execPath, ["tools/breaking.ts", "HEAD"], { cwd: projectRoot });
  expect(stdout).toMatch(/^(Nothing breaks for callers of HEAD\.|HEAD has no protos: nothing can break\.)\n$/);
});

it.each(["petstore-2026-06-01.db", "petstore.db-wal", "data/petstore.db.before-restore", "petstore-inventory-1.tgz"])(
  "git ignores %s",
  async (file) => {
    expect((await run("git", ["check-ignore", "--no-index", file], { cwd: projectRoot })).stdout).toBe(`${file}\n`);
  },
);
