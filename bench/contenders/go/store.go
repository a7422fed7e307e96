package main

import (
	"database/sql"
	"errors"
	"net/url"
	"runtime"

	_ "github.com/mattn/go-sqlite3"
)

// errNoPet says that there is no such pet.
var errNoPet = errors.New("there is no such pet")

// Item is one stock entry.
type Item struct {
	PetID    int64  `json:"petId"`
	Quantity int64  `json:"quantity"`
	Status   string `json:"status"`
}

// KeyQuota is what a key may use.
type KeyQuota struct {
	ID                string
	PerMinute, PerDay int64
}

// Store is the file that the service made, opened as most people run SQLite on a server: WAL, one connection that
// writes, one for each core that reads, prepared statements. The statements run without a request's context, because
// the driver starts a goroutine for each query with one.
type Store struct {
	list, get, update, findKey *sql.Stmt
}

// openStore opens the file with a value of SQLite's `synchronous`.
func openStore(file, synchronous string) (*Store, error) {
	options := url.Values{
		"mode": {"rw"}, "_journal_mode": {"WAL"}, "_busy_timeout": {"5000"}, "_synchronous": {synchronous},
	}
	name := (&url.URL{Scheme: "file", Path: file, RawQuery: options.Encode()}).String()
	writer, err := sql.Open("sqlite3", name)
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	readers, err := sql.Open("sqlite3", name)
	if err != nil {
		return nil, err
	}
	readers.SetMaxOpenConns(runtime.NumCPU())
	readers.SetMaxIdleConns(runtime.NumCPU())
	store := &Store{}
	return store, errors.Join(
		prepare(readers, &store.list, "SELECT pet_id, quantity, status FROM stock ORDER BY pet_id"),
		prepare(readers, &store.get, "SELECT pet_id, quantity, status FROM stock WHERE pet_id = ?"),
		prepare(writer, &store.update, "UPDATE stock SET quantity = ? WHERE pet_id = ? RETURNING pet_id, quantity, status"),
		// With a bare `?` SQLite would plan the query again for each request.
		prepare(readers, &store.findKey, `
			SELECT keys.id, keys.per_minute, keys.per_day FROM secrets JOIN keys ON keys.id = secrets.key_id
			WHERE secrets.hash = +? AND keys.revoked_at_ms IS NULL`),
	)
}

func prepare(db *sql.DB, target **sql.Stmt, query string) (err error) {
	*target, err = db.Prepare(query)
	return err
}

// List returns every stock entry, by ascending pet id.
func (s *Store) List() ([]Item, error) {
	return items(s.list.Query())
}

// Get returns the stock of a pet, or errNoPet.
func (s *Store) Get(petID int64) (Item, error) {
	return one(items(s.get.Query(petID)))
}

// Update sets the stock of a pet, in a commit of its own. It returns errNoPet for a pet that is not there.
func (s *Store) Update(petID, quantity int64) (Item, error) {
	// All rows are read: SQLite copies its write-ahead log back only after a statement that has run to its end.
	return one(items(s.update.Query(quantity, petID)))
}

// FindKey returns the key whose secret has this SHA-256, or sql.ErrNoRows.
func (s *Store) FindKey(hash []byte) (key KeyQuota, err error) {
	err = s.findKey.QueryRow(hash).Scan(&key.ID, &key.PerMinute, &key.PerDay)
	return key, err
}

func items(rows *sql.Rows, err error) ([]Item, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []Item{}
	for rows.Next() {
		var item Item
		if err := rows.Scan(&item.PetID, &item.Quantity, &item.Status); err != nil {
			return nil, err
		}
		found = append(found, item)
	}
	return found, rows.Err()
}

func one(found []Item, err error) (Item, error) {
	if err != nil {
		return Item{}, err
	}
	if len(found) == 0 {
		return Item{}, errNoPet
	}
	return found[0], nil
}
