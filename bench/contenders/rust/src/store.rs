use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Result, Row};
use serde::Serialize;

/// One stock entry.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pet_id: i64,
    quantity: i64,
    status: String,
}

/// What a key may use.
pub struct KeyQuota {
    pub id: String,
    pub per_minute: i64,
    pub per_day: i64,
}

/// The file that the service made, opened as most people run SQLite on a server: WAL, `synchronous=NORMAL`, prepared
/// statements, one connection that writes and one that reads. A statement takes some microseconds, so it runs where the
/// request is served.
pub struct Store {
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

impl Store {
    pub fn open(file: &str) -> Result<Self> {
        Ok(Self {
            writer: Mutex::new(connect(file)?),
            reader: Mutex::new(connect(file)?),
        })
    }

    /// Every stock entry, by ascending pet id.
    pub fn list(&self) -> Result<Vec<Item>> {
        let query = "SELECT pet_id, quantity, status FROM stock ORDER BY pet_id";
        items(&lock(&self.reader), query, [])
    }

    /// The stock of a pet.
    pub fn get(&self, pet_id: i64) -> Result<Option<Item>> {
        let query = "SELECT pet_id, quantity, status FROM stock WHERE pet_id = ?";
        Ok(items(&lock(&self.reader), query, [pet_id])?.pop())
    }

    /// Sets the stock of a pet, in a commit of its own. `None` for a pet that is not there.
    pub fn update(&self, pet_id: i64, quantity: i64) -> Result<Option<Item>> {
        let query =
            "UPDATE stock SET quantity = ? WHERE pet_id = ? RETURNING pet_id, quantity, status";
        // All rows are read: SQLite copies its write-ahead log back only after a statement that has run to its end.
        Ok(items(&lock(&self.writer), query, [quantity, pet_id])?.pop())
    }

    /// The key whose secret has this SHA-256.
    pub fn find_key(&self, hash: &[u8]) -> Result<Option<KeyQuota>> {
        // With a bare `?` SQLite would plan the query again for each request.
        let query = "SELECT keys.id, keys.per_minute, keys.per_day
            FROM secrets JOIN keys ON keys.id = secrets.key_id
            WHERE secrets.hash = +? AND keys.revoked_at_ms IS NULL";
        lock(&self.reader)
            .prepare_cached(query)?
            .query_row([hash], |row| {
                Ok(KeyQuota {
                    id: row.get(0)?,
                    per_minute: row.get(1)?,
                    per_day: row.get(2)?,
                })
            })
            .optional()
    }
}

fn connect(file: &str) -> Result<Connection> {
    let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(db)
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

fn items(db: &Connection, query: &str, values: impl Params) -> Result<Vec<Item>> {
    let mut statement = db.prepare_cached(query)?;
    statement.query_map(values, item)?.collect()
}

fn item(row: &Row) -> Result<Item> {
    Ok(Item {
        pet_id: row.get(0)?,
        quantity: row.get(1)?,
        status: row.get(2)?,
    })
}
