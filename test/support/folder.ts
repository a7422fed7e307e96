import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

/** Creates a folder, which is removed when the test ends. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "petstore-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Returns what creates a folder as `createFolder` does, with the files that `fill` writes. It writes them only once: each
 * folder is a copy. Call it outside of the tests.
 */
export function folderOf(fill: (folder: string) => Promise<unknown>): () => Promise<string> {
  const original = mkdtempSync(join(tmpdir(), "petstore-test-"));
  afterAll(() => rmSync(original, { recursive: true, force: true }));
  let filled: Promise<unknown> | undefined;
  return async () => {
    filled ??= fill(original);
    await filled;
    const folder = createFolder();
    cpSync(original, folder, { recursive: true });
    return folder;
  };
}
