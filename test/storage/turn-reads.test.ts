import { setImmediate } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { prepareDatabase } from "../../src/storage/sqlite/database.ts";
import { TurnReads } from "../../src/storage/sqlite/lists.ts";
import { createFolder } from "../support/folder.ts";

let file: string;
let reader: Connection;
let writer: Connection;
let reads: TurnReads;

beforeEach(() => {
  file = prepareDatabase(`${createFolder()}/petstore.db`);
  reader = new Connection(file);
  writer = new Connection(file);
  onTestFinished(() => {
    reader.close();
    writer.close();
  });
  reads = new TurnReads(reader);
});

function write(bytes: number): void {
  writer.run(`INSERT OR REPLACE INTO last_backup (number, taken_at_ms, bytes) VALUES (1, 0, ?)`, bytes);
}

function read(): number | undefined {
  const row = reads.read((connection) => connection.get<{ bytes: bigint }>(`SELECT bytes FROM last_backup`));
  return row && Number(row.bytes);
}

describe("reads of one turn of the event loop", () => {
  it("see one moment, also those of promises that are settled meanwhile", async () => {
    write(1);
    expect(read()).toBe(1);
    write(2);
    expect(read()).toBe(1);
    await Promise.resolve();
    expect(read()).toBe(1);
  });

  it("see, in the next turn, what was written meanwhile, and leave no transaction open", async () => {
    write(1);
    expect(read()).toBe(1);
    write(2);
    await setImmediate();
    expect(reader.inTransaction).toBe(false);
    expect(read()).toBe(2);
  });

  it("share their moment with those that ask for one", async () => {
    write(1);
    expect(reads.read((connection) => connection.inSnapshot(read))).toBe(1);
    write(2);
    expect(read()).toBe(1);
    await setImmediate();
    expect(read()).toBe(2);
  });

  it("see what the turn itself has written, once they are told", () => {
    write(1);
    expect(read()).toBe(1);
    write(2);
    reads.end();
    expect(read()).toBe(2);
  });

  it("go on after an error, also after one that has ended the transaction", async () => {
    write(1);
    expect(() => reads.read((connection) => connection.run(`SELECT 1 FROM nowhere`))).toThrow("nowhere");
    expect(read()).toBe(1);
    reads.read((connection) => connection.run("ROLLBACK"));
    write(2);
    expect(read()).toBe(2);
    await setImmediate();
    expect(reader.inTransaction).toBe(false);
  });

  it("go on after one that has met a damaged page", async () => {
    write(1);
    const spoiler = new Sqlite(file).unsafeMode();
    spoiler.exec(`PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage =
      (SELECT rootpage FROM sqlite_schema WHERE name = 'stock_by_status') WHERE name = 'stock';
      PRAGMA schema_version = 1000`);
    spoiler.close();
    expect(() => reads.read((connection) => connection.get(`SELECT * FROM stock`))).toThrow("cannot reach its store");
    await setImmediate();
    expect(reader.inTransaction).toBe(false);
    expect(read()).toBe(1);
  });
});
