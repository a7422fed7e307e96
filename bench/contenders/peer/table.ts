import Sqlite from "better-sqlite3";

/** One stock entry, as the peers answer it. */
export interface Item {
  readonly petId: number;
  readonly quantity: number;
  readonly status: "available" | "pending" | "sold";
}

/** What the peers do with the file that the service made. */
export interface Table {
  readonly db: Sqlite.Database;
  /** Every stock entry, by ascending pet id. */
  list(): Item[];
  /** The stock of a pet. Undefined for a pet that is not there. */
  get(petId: number): Item | undefined;
  /** Sets the stock of a pet, in a commit of its own. Undefined for a pet that is not there. */
  update(petId: number, quantity: number): Item | undefined;
}

/** Opens the file the way most people run SQLite on a server: WAL, `synchronous=NORMAL`, prepared statements. */
export function openTable(file: string): Table {
  const db = new Sqlite(file, { fileMustExist: true });
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = NORMAL");
  const list = db.prepare<[], Item>("SELECT pet_id AS petId, quantity, status FROM stock ORDER BY pet_id");
  const get = db.prepare<[number], Item>("SELECT pet_id AS petId, quantity, status FROM stock WHERE pet_id = ?");
  const update = db.prepare<[number, number], Item>(
    "UPDATE stock SET quantity = ? WHERE pet_id = ? RETURNING pet_id AS petId, quantity, status",
  );
  return {
    db,
    list: () => list.all(),
    get: (petId) => get.get(petId),
    // The driver's `get` would leave the statement open, and the write-ahead log would grow without end.
    update: (petId, quantity) => update.all(quantity, petId)[0],
  };
}
