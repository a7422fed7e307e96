import { expect, it, vi } from "vitest";
import { noteBackup } from "../../../src/cli/commands/backup-note.ts";
import { storeUnavailable } from "../../../src/domain/errors.ts";

const backup = { takenAtMs: 1_700_000_000_000, bytes: 40_960 };

it("a store that cannot note its backup is a warning, and no failure", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const recordBackup = () => Promise.reject(storeUnavailable(new Error("database or disk is full")));
  await noteBackup({ recordBackup }, backup);
  expect(write.mock.calls).toEqual([
    [
      "petstore: warning: the backup is complete, but the store does not know of it: the store failed: database or disk is full\n",
    ],
  ]);
  write.mockRestore();
});
