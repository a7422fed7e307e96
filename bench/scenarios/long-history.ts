import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { schemaVersion } from "../../src/storage/sqlite/migrations.ts";
import { cacheFolder } from "../cache-folder.ts";
import { copyStore, type DataSet } from "../data-set.ts";

/** How many changes the long history has, beside those of the import. */
export const historyLength = 10_000_000;

/** Every 128th change of a pet has a mark. Source: the table `change_marks` */
const markEach = 128;

/**
 * A data set with the same pets and a long history. Building it takes a minute, so it is kept below the folder for
 * temporary files, and used again by later runs.
 */
export function prepareLongHistory(data: DataSet): DataSet {
  const base = join(cacheFolder, `history-v${schemaVersion}-${data.petCount}-${historyLength}`);
  const [db, about] = [`${base}.db`, `${base}.json`];
  if (!existsSync(about)) {
    mkdirSync(cacheFolder, { recursive: true });
    const draft = copyStore(data, `${base}.draft`);
    addHistory(draft);
    renameSync(draft, db);
    // Written last: its presence says that the store is complete.
    writeFileSync(about, JSON.stringify({ key: data.key }));
  }
  const { key } = JSON.parse(readFileSync(about, "utf8")) as Pick<DataSet, "key">;
  return { ...data, db, key };
}

/**
 * Adds changes of all pets in turn, as the service would have written them. Each change sets the present quantity, so
 * that the entries do not change.
 */
function addHistory(db: string): void {
  const connection = new Sqlite(db);
  try {
    connection.pragma("journal_mode = OFF");
    connection.pragma("synchronous = OFF");
    connection.pragma("cache_size = -500000");
    const pets = connection.prepare<[], number>("SELECT count(*) FROM stock").pluck().get() ?? 0;
    const head = connection.prepare<[], number>("SELECT max(revision) FROM changes").pluck().get() ?? 0;
    if (head !== pets) {
      throw new Error(`an import of ${pets} pets has left ${head} changes: add as many to a new store`);
    }
    const last = head + historyLength;
    connection.exec(`
      CREATE TEMP TABLE numbered AS SELECT row_number() OVER (ORDER BY pet_id) AS number, pet_id, quantity FROM stock;
      CREATE UNIQUE INDEX temp.numbered_by_number ON numbered (number);
      CREATE UNIQUE INDEX temp.numbered_by_pet ON numbered (pet_id);
      INSERT INTO changes (revision, pet_id, previous, before, after, kind, reason, reference, key_id, request_id, occurred_at_ms)
      WITH RECURSIVE counter (revision) AS (
        VALUES (${head + 1}) UNION ALL SELECT revision + 1 FROM counter WHERE revision < ${last}
      )
      SELECT revision, pet_id, revision - ${pets}, quantity, quantity, 'set', 'stock-take',
        'count ' || revision, 'key_bench00000000000', 'request-' || revision, ${Date.now()}
      FROM counter CROSS JOIN numbered ON number = (revision - 1) % ${pets} + 1;
      INSERT INTO change_marks
      SELECT pet_id, revision FROM changes WHERE ((revision - 1) / ${pets} + 1) % ${markEach} = 0 ORDER BY 1, 2;
      UPDATE stock SET
        revision = number + ${pets} * ((${last} - number) / ${pets}),
        changes = (${last} - number) / ${pets} + 1
      FROM numbered WHERE numbered.pet_id = stock.pet_id;
      UPDATE history SET applied_revision = ${last};`);
    connection.pragma("journal_mode = WAL");
  } finally {
    connection.close();
  }
}
