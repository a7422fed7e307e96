import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { PacedFsync } from "../../src/storage/sqlite/maintenance/backup.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { createPet } from "./samples.ts";

/** Keeps its thread busy, as a piece of a copy does. */
function workFor(durationMs: number): void {
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs) {
    // As long as it takes.
  }
}

/** Counts the turns of the event loop, to the end of the test. */
function countTurns(): () => number {
  let turns = 0;
  let next: NodeJS.Immediate;
  const go = () => {
    turns += 1;
    next = setImmediate(go);
  };
  go();
  onTestFinished(() => clearImmediate(next));
  return () => turns;
}

describe("what is to be bounded in its effect on others", () => {
  it("is a backup in small pieces, between which its process does other work", async () => {
    const file = join(createFolder(), "petstore.db");
    const store = openSqliteStore(file);
    const name = "x".repeat(3_000);
    await store.importAll({ pets: Array.from({ length: 2_000 }, (_, n) => createPet({ id: BigInt(n), name })) }, 0);
    const turns = countTurns();
    const pieces: { done: number; turn: number }[] = [];
    await store.maintenance.backup(`${file}.copy`, (done) => pieces.push({ done, turn: turns() }));
    await store.close();
    expect(pieces.length).toBeGreaterThan(5);
    for (const [index, { done, turn }] of pieces.slice(1).entries()) {
      // 250 pages are some 1 MB.
      expect(done - (pieces[index]?.done ?? 0)).toBeLessThanOrEqual(250);
      expect(turn).toBeGreaterThan(pieces[index]?.turn ?? 0);
    }
  });

  it.each([20, 60])("is the disk: it is left alone for as long as a piece of %i ms took", (pieceMs) => {
    const file = join(createFolder(), "copy.db");
    writeFileSync(file, "x");
    using pacedFsync = new PacedFsync(file);
    workFor(pieceMs);
    const startMs = performance.now();
    pacedFsync.pause();
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(pieceMs - 1);
  });
});
