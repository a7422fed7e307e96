import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ChangeQuery } from "../../src/domain/history.ts";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { openSqliteStore, type SqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { createPet } from "./samples.ts";

/** Changes of pet 1, with marks. Pet 2 has one change, in the beginning. */
const count = 25_000n;

let store: SqliteStore;

beforeEach(async () => {
  const file = join(createFolder(), "petstore.db");
  store = openSqliteStore(file);
  await store.importAll({ pets: [createPet({ id: 2n }), createPet({ id: 1n, quantity: 5n })] }, 0);
  const connection = new Connection(file);
  connection.execute(
    `INSERT INTO changes (revision, pet_id, previous, before, after, kind, occurred_at_ms)
     WITH RECURSIVE n (revision) AS (VALUES (3) UNION ALL SELECT revision + 1 FROM n WHERE revision < ${count})
     SELECT revision, 1, iif(revision = 3, 1, revision - 1), 5, 5, 'set', revision FROM n;
     INSERT INTO change_marks SELECT 1, revision FROM changes WHERE revision > 2 AND (revision - 1) % 128 = 0;
     UPDATE stock SET revision = ${count}, changes = ${count - 1n} WHERE pet_id = 1;
     UPDATE history SET applied_revision = ${count}`,
  );
  connection.close();
});

afterEach(() => store.close());

const all: ChangeQuery = { after: 0n, petIds: [], newestFirst: false, limit: 1_000 };

describe("a search that finds little in a long history", () => {
  it.each<[name: string, query: Partial<ChangeQuery>, searched: bigint]>([
    ["of a count that is never crossed", { crossing: 3n }, 10_000n],
    ["of such a count, the newest first", { crossing: 3n, newestFirst: true }, 10_000n],
    ["of such a count, by a pet", { crossing: 3n, petIds: [1n] }, 1_000n],
    ["of such a count, by a pet, the newest first", { crossing: 3n, petIds: [1n], newestFirst: true }, 1_000n],
  ])("ends early, and tells how far it has come: %s", async (_name, query, searched) => {
    let next: ChangeQuery = { ...all, ...query };
    for (let left = count; ; ) {
      const { changes, searchedTo } = await store.listChanges(next);
      expect(changes).toEqual([]);
      if (searchedTo === undefined) {
        expect(left).toBeLessThan(searched + 130n);
        return;
      }
      const done = next.newestFirst ? (next.before ?? count + 1n) - searchedTo : searchedTo - next.after;
      expect(done).toBeGreaterThan(searched - 130n);
      expect(done).toBeLessThan(searched + 130n);
      left -= done;
      next = next.newestFirst ? { ...next, before: searchedTo } : { ...next, after: searchedTo };
    }
  });

  it("finds the changes of a pet that has few at once, wherever they are", async () => {
    for (const newestFirst of [false, true]) {
      const { changes, searchedTo } = await store.listChanges({ ...all, petIds: [2n], newestFirst });
      expect([changes.map(({ revision }) => revision), searchedTo]).toEqual([[2n], undefined]);
    }
  });

  it("finds the changes after any revision", async () => {
    for (const [newestFirst, first] of [
      [false, 20_001n],
      [true, 20_009n],
    ] as const) {
      const query = { ...all, after: 20_000n, before: 20_010n, petIds: [1n, 2n], newestFirst };
      const revisions = (await store.listChanges(query)).changes.map(({ revision }) => revision);
      expect([revisions.length, revisions[0]]).toEqual([9, first]);
    }
  });
});
