-- A store as version 4 of the schema has it. Once released, this file is never changed.
PRAGMA application_id = 1885697139;
PRAGMA user_version = 4;
PRAGMA journal_mode = WAL;

CREATE TABLE pets (
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
   ) STRICT;

INSERT INTO pets VALUES (-5, 'Rex', 'dogs', '["https://pets.example/a.jpg"]', '["Mix","Zoë"]', 'sold', 9223372036854775807);
INSERT INTO pets VALUES (7, '', '', '[]', '[]', 'available', -1);
INSERT INTO orders VALUES (1, 7, 2, 1780000000000, 'placed', 0);
INSERT INTO keys VALUES (1, 'key_a', 'Till 3', 'enterprise', 5, 3, '["pets:read"]', 1700000000000, 1800000000000, NULL, 2);
INSERT INTO keys VALUES (2, 'key_b', '', 'free', NULL, NULL, '["inventory:read"]', 1700000000001, NULL, 1700000000002, 0);
INSERT INTO secrets VALUES (x'a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0', 'key_a', 1750000000000);
INSERT INTO secrets VALUES (x'b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0', 'key_b', NULL);
INSERT INTO usage VALUES ('key_a', 1700000000003, 1, 1700000000004, 2, 1700000000005, 3, 4, 1700000000006, 2, 1700000000007);
INSERT INTO deprecated_calls VALUES ('key_a', 'petstore.v1.PetService/GetPet', 1700000000008);
INSERT INTO last_backup VALUES (1, 1700000000009, 40960);
INSERT INTO usage_saves VALUES (1, '11111111-1111-4111-8111-111111111111', 7);
INSERT INTO change_counters VALUES (1, 3, 5, 7);
