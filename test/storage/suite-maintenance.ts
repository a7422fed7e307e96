import { describe, expect, it } from "vitest";
import type { Store, StoreMaintenance } from "../../src/domain/store.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createPet } from "./samples.ts";

/** Only for backends that have maintenance. */
export function describeMaintenance(open: OpenStore): void {
  describe("the last backup", () => {
    const first = { takenAtMs: 1_700_000_000_000, bytes: 40_960 };
    const second = { takenAtMs: 1_700_000_100_000, bytes: 2 ** 40 };

    it(
      "is none at first",
      withStore(open, async ({ store }) => {
        expect(await maintenanceOf(store).lastBackup()).toBeUndefined();
      }),
    );

    it(
      "is the last one, for others too, and after a restart",
      withStore(open, async ({ store, openAnother, reopen }) => {
        const other = await openAnother();
        await maintenanceOf(store).recordBackup(first);
        expect(await maintenanceOf(other).lastBackup()).toEqual(first);
        await maintenanceOf(other).recordBackup(second);
        expect(await maintenanceOf(store).lastBackup()).toEqual(second);
        expect(await maintenanceOf(await reopen()).lastBackup()).toEqual(second);
      }),
    );

    it(
      "is the one that was begun last, though another one ends after it",
      withStore(open, async ({ store }) => {
        await maintenanceOf(store).recordBackup(second);
        await maintenanceOf(store).recordBackup(first);
        expect(await maintenanceOf(store).lastBackup()).toEqual(second);
      }),
    );

    it(
      "is replaced by any that is taken once a clock which was ahead is right again",
      withStore(open, async ({ store }) => {
        await maintenanceOf(store).recordBackup({ takenAtMs: Date.now() + 3_600_000, bytes: 1 });
        await maintenanceOf(store).recordBackup(first);
        expect(await maintenanceOf(store).lastBackup()).toEqual(first);
      }),
    );
  });

  describe("the space", () => {
    it(
      "that a store takes grows with it, and there is no more left than there is",
      withStore(open, async ({ store }) => {
        const before = await maintenanceOf(store).space();
        const pets = Array.from({ length: 5_000 }, (_, n) => createPet({ id: BigInt(n) }));
        await store.importAll({ pets }, 0);
        const after = await maintenanceOf(store).space();
        expect(after.dataBytes + after.logBytes).toBeGreaterThan(before.dataBytes + before.logBytes + 50_000);
        expect(after.freeBytes).toBeGreaterThan(0);
        expect(after.capacityBytes).toBeGreaterThanOrEqual(after.freeBytes + after.dataBytes + after.logBytes);
      }),
    );
  });
}

function maintenanceOf({ maintenance }: Store): StoreMaintenance {
  if (maintenance === undefined) {
    expect.unreachable("the backend has no maintenance");
  }
  return maintenance;
}
