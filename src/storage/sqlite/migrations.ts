import type { ReportProgress } from "../../domain/store.ts";
import type { Connection } from "./connection.ts";

/** One step to a newer version of the schema: SQL, changed definitions, and the moves of whole tables. */
type Step = readonly (string | Redefinition | TableMove)[];

/** Replaces a part of a table's definition, however many rows there are: see `Connection.redefine`. */
interface Redefinition {
  readonly table: string;
  readonly former: string;
  readonly present: string;
}

/** Moves all rows of a table that has an `id`, some at a time, so that each part reuses the space of the one before. */
interface TableMove {
  readonly from: string;
  /** The first parts of the statements. The part that selects the rows is appended. */
  readonly inserts: readonly string[];
}

/** The steps that lead from an empty file to the present schema. A step that was released is never changed. */
const migrations: readonly Step[] = [
  [
    `CREATE TABLE pets (
     id         INTEGER PRIMARY KEY,
     name       TEXT NOT NULL,
     category   TEXT NOT NULL,
     photo_urls TEXT NOT NULL,  -- a JSON array of strings
     tags       TEXT NOT NULL,  -- a JSON array of strings
     status     TEXT NOT NULL CHECK (status IN ('available', 'pending', 'sold')),
     quantity   INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX pets_by_status ON pets (status);

   CREATE TABLE orders (
     id           INTEGER PRIMARY KEY,
     pet_id       INTEGER NOT NULL,
     quantity     INTEGER NOT NULL,
     ship_date_ms INTEGER NOT NULL,
     status       TEXT NOT NULL CHECK (status IN ('placed', 'approved', 'delivered')),
     complete     INTEGER NOT NULL CHECK (complete IN (0, 1))
   ) STRICT;
   CREATE INDEX orders_by_status ON orders (status);

   CREATE TABLE keys (
     number        INTEGER PRIMARY KEY,  -- in the order of creation
     id            TEXT NOT NULL UNIQUE,
     name          TEXT NOT NULL,
     plan          TEXT NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
     per_minute    INTEGER CHECK ((per_minute IS NOT NULL) = (plan = 'enterprise')),
     per_day       INTEGER CHECK ((per_day IS NOT NULL) = (plan = 'enterprise')),
     scopes        TEXT NOT NULL,  -- a JSON array of strings
     created_at_ms INTEGER NOT NULL,
     expires_at_ms INTEGER,
     revoked_at_ms INTEGER,
     unbans        INTEGER NOT NULL DEFAULT 0
   ) STRICT;

   CREATE TABLE secrets (
     hash          BLOB PRIMARY KEY,  -- SHA-256
     key_id        TEXT NOT NULL REFERENCES keys (id),
     expires_at_ms INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX secrets_by_key ON secrets (key_id);

   CREATE TABLE usage (
     key_id                TEXT PRIMARY KEY REFERENCES keys (id),
     minute_opened_at_ms   INTEGER,
     minute_count          INTEGER,
     day_opened_at_ms      INTEGER,
     day_count             INTEGER,
     refusals_opened_at_ms INTEGER,
     refusals_count        INTEGER,
     ban_step              INTEGER,
     ban_ends_at_ms        INTEGER,
     unbans                INTEGER NOT NULL,
     last_used_at_ms       INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  ],
  [
    `CREATE TABLE deprecated_calls (
     key_id            TEXT NOT NULL REFERENCES keys (id),
     method            TEXT NOT NULL,  -- such as petstore.v1.PetService/GetPet
     last_called_at_ms INTEGER NOT NULL,
     PRIMARY KEY (key_id, method)
   ) STRICT, WITHOUT ROWID;`,
  ],
  [
    `CREATE TABLE last_backup (
     number      INTEGER PRIMARY KEY CHECK (number = 1),
     taken_at_ms INTEGER NOT NULL,
     bytes       INTEGER NOT NULL
   ) STRICT;`,
  ],
  [
    `CREATE TABLE usage_saves (
     position INTEGER PRIMARY KEY,  -- in the order of the servers' first saves
     server   TEXT NOT NULL UNIQUE,
     number   INTEGER NOT NULL
   ) STRICT;

   CREATE TABLE change_counters (
     number INTEGER PRIMARY KEY CHECK (number = 1),
     keys   INTEGER NOT NULL,
     stock  INTEGER NOT NULL,
     usage  INTEGER NOT NULL
   ) STRICT;
   INSERT INTO change_counters VALUES (1, 0, 0, 0);`,
  ],
  [
    `DROP INDEX pets_by_status;
   ALTER TABLE pets RENAME TO former_pets;
   CREATE TABLE pets (
     id         INTEGER PRIMARY KEY,
     name       TEXT NOT NULL,
     category   TEXT NOT NULL,
     photo_urls TEXT NOT NULL,  -- a JSON array of strings
     tags       TEXT NOT NULL   -- a JSON array of strings
   ) STRICT;

   CREATE TABLE stock (
     pet_id   INTEGER PRIMARY KEY,
     quantity INTEGER NOT NULL,
     revision INTEGER NOT NULL,  -- that of the pet's last change; 0 before the first one
     changes  INTEGER NOT NULL,  -- how many the pet has had, deleted ones included
     held     INTEGER NOT NULL DEFAULT 0,  -- the quantities of its holds in the state 'held', added up
     status   TEXT NOT NULL CHECK (status IN ('available', 'pending', 'sold'))
   ) STRICT;
   CREATE INDEX stock_by_status ON stock (status);`,
    {
      from: "former_pets",
      inserts: [
        "INSERT INTO pets SELECT id, name, category, photo_urls, tags",
        "INSERT INTO stock (pet_id, quantity, revision, changes, status) SELECT id, quantity, 0, 0, status",
      ],
    },
    `DROP TABLE former_pets;

   CREATE TABLE history (
     number  INTEGER PRIMARY KEY CHECK (number = 1),
     lineage TEXT NOT NULL  -- differs for each store, and for each copy of one
   ) STRICT;
   INSERT INTO history VALUES (1, lower(hex(randomblob(6))));

   CREATE TABLE changes (
     revision       INTEGER PRIMARY KEY,  -- 1, 2, 3 ... in the order of commits
     pet_id         INTEGER NOT NULL,
     previous       INTEGER NOT NULL,  -- the revision of the pet's change before this one; 0 for its first
     before         INTEGER,  -- NULL for a pet that was new
     after          INTEGER NOT NULL,
     kind           TEXT NOT NULL CHECK (kind IN ('set', 'adjust', 'import', 'hold')),
     reason         TEXT,
     reference      TEXT,
     key_id         TEXT,  -- NULL for commands, as is request_id
     request_id     TEXT,
     occurred_at_ms INTEGER NOT NULL
   ) STRICT;

   CREATE TABLE change_marks (
     pet_id   INTEGER NOT NULL,
     revision INTEGER NOT NULL,  -- that of every 128th change of the pet
     PRIMARY KEY (pet_id, revision)
   ) STRICT, WITHOUT ROWID;

   CREATE TABLE holds (
     position      INTEGER PRIMARY KEY AUTOINCREMENT,  -- in the order of creation
     id            TEXT NOT NULL UNIQUE,
     pet_id        INTEGER NOT NULL,
     quantity      INTEGER NOT NULL CHECK (quantity >= 1),
     reference     TEXT,
     state         TEXT NOT NULL  -- 'held' may be past its expiry
                   CHECK (state IN ('held', 'committed', 'released', 'expired')),
     created_at_ms INTEGER NOT NULL,
     expires_at_ms INTEGER NOT NULL,
     ended_at_ms   INTEGER CHECK ((ended_at_ms IS NULL) = (state = 'held')),
     key_id        TEXT NOT NULL
   ) STRICT;
   CREATE INDEX holds_open ON holds (pet_id, expires_at_ms, quantity) WHERE state = 'held';
   CREATE INDEX holds_by_expiry ON holds (expires_at_ms) WHERE state = 'held';
   CREATE INDEX holds_by_end ON holds (ended_at_ms) WHERE ended_at_ms IS NOT NULL;
   CREATE INDEX holds_by_pet ON holds (pet_id, state, position, expires_at_ms);
   CREATE INDEX holds_by_state ON holds (state, position, expires_at_ms);

   CREATE TABLE idempotency_records (
     key_id          TEXT NOT NULL,
     idempotency_key TEXT NOT NULL,  -- in their order: keys that count up, or begin with the time, share pages
     fingerprint     BLOB NOT NULL,  -- a SHA-256 of method and content
     result          TEXT NOT NULL,  -- the first result, in JSON
     created_at_ms   INTEGER NOT NULL,
     PRIMARY KEY (key_id, idempotency_key)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at_ms);

   ALTER TABLE change_counters ADD COLUMN others INTEGER NOT NULL DEFAULT 0;  -- writes that no cache depends on`,
  ],
  [
    {
      table: "changes",
      former: "CHECK (kind IN ('set', 'adjust', 'import', 'hold'))",
      // IN with more than two values makes SQLite build a table of them for each row: half the cost of an insert.
      present: "CHECK (kind = 'set' OR kind = 'adjust' OR kind = 'import' OR kind = 'hold')",
    },
    `CREATE TABLE webhooks (
     number                INTEGER PRIMARY KEY,  -- in the order of creation
     id                    TEXT NOT NULL UNIQUE,
     url                   TEXT NOT NULL,
     pet_ids               TEXT NOT NULL,  -- a JSON array of integers in text; empty for all pets
     crossing              INTEGER,
     created_at_ms         INTEGER NOT NULL,
     secret                TEXT NOT NULL,
     former_secret         TEXT,
     former_secret_ends_ms INTEGER CHECK ((former_secret_ends_ms IS NULL) = (former_secret IS NULL)),
     paused                TEXT CHECK (paused IN ('operator', 'failures', 'history')),
     paused_at_ms          INTEGER CHECK ((paused_at_ms IS NULL) = (paused IS NULL)),
     position              INTEGER NOT NULL,  -- all selected changes up to this revision have been delivered
     delivering_up_to      INTEGER,  -- the last revision of the delivery that was begun
     failures              INTEGER NOT NULL,
     failing_since_ms      INTEGER,
     next_attempt_at_ms    INTEGER
   ) STRICT;

   CREATE TABLE webhook_attempts (
     number      INTEGER PRIMARY KEY,  -- in their order
     webhook_id  TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
     delivery_id TEXT NOT NULL,
     at_ms       INTEGER NOT NULL,
     duration_ms INTEGER NOT NULL,
     changes     INTEGER NOT NULL,
     status      INTEGER,  -- NULL where the receiver has not answered
     fault       TEXT      -- NULL for a success
   ) STRICT;
   CREATE INDEX webhook_attempts_by_webhook ON webhook_attempts (webhook_id, number);

   ALTER TABLE change_counters ADD COLUMN webhooks INTEGER NOT NULL DEFAULT 0;`,
  ],
  [
    `ALTER TABLE changes ADD COLUMN number INTEGER NOT NULL DEFAULT 0;  -- the pet's first is 1; 0 for older ones
   ALTER TABLE history ADD COLUMN applied_revision INTEGER NOT NULL DEFAULT 0;  -- stock has all changes up to it
   UPDATE history SET applied_revision = (SELECT ifnull(max(revision), 0) FROM changes);

   CREATE VIEW unapplied_stock AS
     SELECT pet_id, after AS quantity, max(revision) AS revision, number AS changes
     FROM changes WHERE revision > (SELECT applied_revision FROM history) GROUP BY pet_id;

   CREATE VIEW current_stock AS
     SELECT stock.pet_id,
       iif(late.revision > stock.revision, late.quantity, stock.quantity) AS quantity,
       iif(late.revision > stock.revision, late.revision, stock.revision) AS revision,
       iif(late.revision > stock.revision, late.changes, stock.changes) AS changes,
       stock.held, stock.status
     FROM stock LEFT JOIN unapplied_stock AS late ON late.pet_id = stock.pet_id;`,
  ],
];

/** The version of the schema that this program reads and writes: SQLite's `user_version`. */
export const schemaVersion = migrations.length;

/** Marks our files among SQLite files: SQLite's `application_id`, "pets" in ASCII. */
export const applicationId = 0x70657473;

/** Makes the schema of a version, which may be an older one, in an empty file. */
export function createSchema(connection: Connection, version: number): void {
  applySteps(connection, migrations.slice(0, version));
}

/** Whether a file is a store of an older version of the schema. */
export function hasOlderSchema(connection: Connection): boolean {
  const version = versionOf(connection);
  return version > 0 && version < schemaVersion;
}

/**
 * Brings a file to the present schema, in one transaction: if it ends half-way, the file is as it was. It takes the
 * same memory for any number of rows. Reports how many rows of an older store are done. Throws where the file cannot be
 * written.
 */
export function migrate(connection: Connection, report: ReportProgress = () => {}): void {
  const present = versionOf(connection);
  if (present >= schemaVersion) {
    // Fails where the file cannot be written. It is rolled back, so that servers do not see a change.
    connection.execute(`BEGIN IMMEDIATE; PRAGMA user_version = ${present}; ROLLBACK`);
    return;
  }
  connection.atomically(() => {
    // Read again within the transaction: another process may have migrated the file meanwhile.
    const version = versionOf(connection);
    applySteps(connection, migrations.slice(version), version > 0 ? report : undefined);
    connection.pragma(`application_id = ${applicationId}`);
    connection.pragma(`user_version = ${Math.max(version, schemaVersion)}`);
  });
}

function applySteps(connection: Connection, steps: readonly Step[], report?: ReportProgress): void {
  for (const part of steps.flat()) {
    if (typeof part === "string") {
      connection.execute(part);
    } else if ("former" in part) {
      connection.redefine(part.table, part.former, part.present);
    } else {
      moveTable(connection, part, report);
    }
  }
}

/** Few enough for a progress bar that moves, and enough that each statement is worth it. */
const rowsPerMove = 20_000;

function moveTable(connection: Connection, { from, inserts }: TableMove, report: ReportProgress = () => {}): void {
  const total = Number(connection.get<{ count: bigint }>(`SELECT count(*) AS count FROM ${from}`)?.count);
  for (let done = 0; done < total; done += rowsPerMove) {
    report(done, total);
    for (const insert of inserts) {
      connection.run(`${insert} FROM ${from} ORDER BY id LIMIT ${rowsPerMove}`);
    }
    connection.run(`DELETE FROM ${from} WHERE id IN (SELECT id FROM ${from} ORDER BY id LIMIT ${rowsPerMove})`);
  }
  report(total, total);
}

function versionOf(connection: Connection): number {
  return Number(connection.pragma("user_version"));
}
