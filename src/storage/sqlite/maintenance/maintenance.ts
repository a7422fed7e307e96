import { statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { storeUnavailable } from "../../../domain/errors.ts";
import type {
  BackupRecord,
  CheckDepth,
  ReportProgress,
  StoreGauge,
  StoreMaintenance,
  StoreSpace,
} from "../../../domain/store.ts";
import { countChange } from "../change-tokens.ts";
import { type Connection, type ConnectionOptions, fromDriverError } from "../connection.ts";
import { openDatabase } from "../database.ts";

/*
 * What backs up, checks and restores is loaded by the command that does it. A server only reads gauges: each module that
 * it does not load makes its start shorter.
 */

/** What is told about the store's file, its log, and their file system. */
const spaceGauges: readonly [name: string, help: string, read: (space: StoreSpace) => number][] = [
  ["petstore_sqlite_file_bytes", "The size of the store's file.", ({ dataBytes }) => dataBytes],
  ["petstore_sqlite_wal_bytes", "The size of the store's write-ahead log.", ({ logBytes }) => logBytes],
  [
    "petstore_store_filesystem_free_bytes",
    "What is free for the store on its file system.",
    ({ freeBytes }) => freeBytes,
  ],
  [
    "petstore_store_filesystem_size_bytes",
    "The size of the store's file system.",
    ({ capacityBytes }) => capacityBytes,
  ],
];

interface LastBackupRow {
  readonly taken_at_ms: bigint;
  readonly bytes: bigint;
}

/**
 * Maintains the store in a file. `check` and `restore` take any file, and throw `StoreFileError`. The other methods need
 * a prepared one: see `prepareDatabase`.
 */
export class SqliteMaintenance implements StoreMaintenance {
  /** The sizes of the store's files, and of their file system. */
  readonly gauges: readonly StoreGauge[];
  readonly #file: string;
  readonly #options: ConnectionOptions;
  readonly #reader: Connection | undefined;

  /**
   * `reader` is a connection that is open anyway, for what is read at each scrape. SQLite keeps the files of a closed
   * connection open for as long as the process has another one. So a connection for each scrape would leave files open.
   */
  constructor(file: string, options: ConnectionOptions = {}, reader?: Connection) {
    this.#file = file;
    this.#options = options;
    this.#reader = reader;
    this.gauges = spaceGauges.map(([name, help, read]) => ({ name, help, read: async () => read(await this.space()) }));
  }

  async backup(file: string, report?: ReportProgress): Promise<void> {
    const { assertOutside, backUp } = await import("./backup.ts");
    assertOutside(this.#file, file);
    await this.#run((connection) => backUp(connection, file, report));
  }

  recordBackup({ takenAtMs, bytes }: BackupRecord): Promise<void> {
    return this.#run(async (connection) => {
      connection.atomically(() => {
        // One that began later may have ended before. A time to come is that of a wrong clock, and gives way.
        connection.run(
          `INSERT INTO last_backup (number, taken_at_ms, bytes) VALUES (1, ?, ?)
           ON CONFLICT (number) DO UPDATE SET taken_at_ms = excluded.taken_at_ms, bytes = excluded.bytes
           WHERE taken_at_ms <= excluded.taken_at_ms OR taken_at_ms > ?`,
          BigInt(takenAtMs),
          BigInt(bytes),
          BigInt(Date.now()),
        );
        // Without this count, servers would take the commit for one of another program, and drop their caches.
        countChange(connection, "others");
      });
    });
  }

  lastBackup(): Promise<BackupRecord | undefined> {
    return this.#run(async (connection) => {
      const row = connection.get<LastBackupRow>(`SELECT taken_at_ms, bytes FROM last_backup`);
      return row && { takenAtMs: Number(row.taken_at_ms), bytes: Number(row.bytes) };
    }, this.#reader);
  }

  async space(): Promise<StoreSpace> {
    try {
      const { bsize, blocks, bavail } = await statfs(dirname(this.#file));
      return {
        dataBytes: sizeOf(this.#file),
        logBytes: sizeOf(`${this.#file}-wal`),
        // A server cannot use what is reserved for the superuser.
        freeBytes: bavail * bsize,
        capacityBytes: blocks * bsize,
      };
    } catch (error) {
      throw storeUnavailable(error);
    }
  }

  async check(depth: CheckDepth, report?: ReportProgress): Promise<string[]> {
    const { checkDatabase } = await import("./check.ts");
    return checkDatabase(this.#file, depth, report);
  }

  async restore(backup: string, report?: ReportProgress): Promise<string | undefined> {
    const { restoreDatabase } = await import("./backup.ts");
    return restoreDatabase(backup, this.#file, report);
  }

  /** Works over a connection that is open, or over one of its own. */
  async #run<T>(work: (connection: Connection) => Promise<T>, open?: Connection): Promise<T> {
    try {
      const connection = open ?? openDatabase(this.#file, this.#options);
      try {
        return await work(connection);
      } finally {
        if (connection !== open) {
          connection.close();
        }
      }
    } catch (error) {
      throw fromDriverError(error);
    }
  }
}

/** 0 for a missing file. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
