-- A store as version 7 of the schema has it. Once released, this file is never changed.
PRAGMA application_id = 1885697139;
PRAGMA user_version = 7;
PRAGMA journal_mode = WAL;

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
   ) STRICT, WITHOUT ROWID;

CREATE TABLE deprecated_calls (
     key_id            TEXT NOT NULL REFERENCES keys (id),
     method            TEXT NOT NULL,  -- such as petstore.v1.PetService/GetPet
     last_called_at_ms INTEGER NOT NULL,
     PRIMARY KEY (key_id, method)
   ) STRICT, WITHOUT ROWID;

CREATE TABLE last_backup (
     number      INTEGER PRIMARY KEY CHECK (number = 1),
     taken_at_ms INTEGER NOT NULL,
     bytes       INTEGER NOT NULL
   ) STRICT;

CREATE TABLE usage_saves (
     position INTEGER PRIMARY KEY,  -- in the order of the servers' first saves
     server   TEXT NOT NULL UNIQUE,
     number   INTEGER NOT NULL
   ) STRICT;

CREATE TABLE change_counters (
     number INTEGER PRIMARY KEY CHECK (number = 1),
     keys   INTEGER NOT NULL,
     stock  INTEGER NOT NULL,
     usage  INTEGER NOT NULL
   , others INTEGER NOT NULL DEFAULT 0, webhooks INTEGER NOT NULL DEFAULT 0) STRICT;

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

CREATE INDEX stock_by_status ON stock (status);

CREATE TABLE history (
     number  INTEGER PRIMARY KEY CHECK (number = 1),
     lineage TEXT NOT NULL  -- differs for each store, and for each copy of one
   , applied_revision INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE changes (
     revision       INTEGER PRIMARY KEY,  -- 1, 2, 3 ... in the order of commits
     pet_id         INTEGER NOT NULL,
     previous       INTEGER NOT NULL,  -- the revision of the pet's change before this one; 0 for its first
     before         INTEGER,  -- NULL for a pet that was new
     after          INTEGER NOT NULL,
     kind           TEXT NOT NULL CHECK (kind = 'set' OR kind = 'adjust' OR kind = 'import' OR kind = 'hold'),
     reason         TEXT,
     reference      TEXT,
     key_id         TEXT,  -- NULL for commands, as is request_id
     request_id     TEXT,
     occurred_at_ms INTEGER NOT NULL
   , number INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE VIEW unapplied_stock AS
     SELECT pet_id, after AS quantity, max(revision) AS revision, number AS changes
     FROM changes WHERE revision > (SELECT applied_revision FROM history) GROUP BY pet_id;

CREATE VIEW current_stock AS
     SELECT stock.pet_id,
       iif(late.revision > stock.revision, late.quantity, stock.quantity) AS quantity,
       iif(late.revision > stock.revision, late.revision, stock.revision) AS revision,
       iif(late.revision > stock.revision, late.changes, stock.changes) AS changes,
       stock.held, stock.status
     FROM stock LEFT JOIN unapplied_stock AS late ON late.pet_id = stock.pet_id;

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

INSERT INTO pets VALUES (-5, 'Rex', 'dogs', '["https://pets.example/a.jpg"]', '["Mix","Zoë"]');
INSERT INTO pets VALUES (7, '', '', '[]', '[]');
INSERT INTO stock VALUES (-5, 9223372036854775807, 0, 0, 0, 'sold');
INSERT INTO stock VALUES (7, 3, 2, 1, 4, 'available');
INSERT INTO history VALUES (1, 'a0b1c2d3e4f5', 2);
INSERT INTO changes VALUES (2, 7, 1, 5, 3, 'adjust', 'sale', 'order 17', 'key_a', 'request 1', 1700000000010, 0);
INSERT INTO changes VALUES (3, 7, 2, 3, -1, 'import', NULL, NULL, NULL, NULL, 1700000000011, 2);
INSERT INTO holds VALUES (1, 'hold_a', 7, 4, 'cart 5', 'held', 1700000000012, 4100000000000, NULL, 'key_a');
INSERT INTO holds VALUES (2, 'hold_b', 7, 1, NULL, 'released', 1700000000013, 1700000900013, 1700000000014, 'key_a');
INSERT INTO idempotency_records VALUES ('key_a', 'sale-17', x'd0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0', '{}', 1700000000015);
INSERT INTO orders VALUES (1, 7, 2, 1780000000000, 'placed', 0);
INSERT INTO keys VALUES (1, 'key_a', 'Till 3', 'enterprise', 5, 3, '["pets:read"]', 1700000000000, 1800000000000, NULL, 2);
INSERT INTO keys VALUES (2, 'key_b', '', 'free', NULL, NULL, '["inventory:read"]', 1700000000001, NULL, 1700000000002, 0);
INSERT INTO secrets VALUES (x'a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0', 'key_a', 1750000000000);
INSERT INTO secrets VALUES (x'b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'key_b', NULL);
INSERT INTO usage VALUES ('key_a', 1700000000003, 1, 1700000000004, 2, 1700000000005, 3, 4, 1700000000006, 2, 1700000000007);
INSERT INTO deprecated_calls VALUES ('key_a', 'petstore.v1.PetService/GetPet', 1700000000008);
INSERT INTO last_backup VALUES (1, 1700000000009, 40960);
INSERT INTO usage_saves VALUES (1, '11111111-1111-4111-8111-111111111111', 7);
INSERT INTO change_counters VALUES (1, 3, 5, 7, 9, 7);

CREATE TABLE webhooks (
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

INSERT INTO webhooks VALUES (1, 'whk_a', 'https://receiver.example/stock', '["7"]', 5, 1700000000030, 'whsec_a', 'whsec_b', 1700000000040,
  'operator', 1700000000035, 1, 2, 3, 1700000000031, 1700000000032);
INSERT INTO webhook_attempts VALUES (1, 'whk_a', 'msg_1', 1700000000031, 12, 1, 500, 'it answered 500');
