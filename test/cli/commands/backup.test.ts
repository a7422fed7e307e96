import { expect, it, vi } from "vitest";
import { recordBackup } from "../../../src/cli/commands/backup.ts";
import { storeUnavailable } from "../../../src/domain/errors.ts";

const backup = { takenAtMs: 1_700_000_000_000, bytes: 40_960 };

it("warns when the store cannot record its backup", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const store = { recordBackup: () => Promise.reject(storeUnavailable(new Error("database or disk is full"))) };
  await recordBackup(store, backup);
  expect(write.mock.calls).toEqual([
    [
      "petstore: warning: the backup is complete, but the store could not record it: the store failed: database or disk is full\n",
    ],
  ]);
  write.mockRestore();
});
