import type { ImportResult, Imports } from "../domain/catalog.ts";
import { maskCredentials } from "../domain/masking.ts";
import {
  isPostgresUrl,
  type RegisteredServer,
  type ReportProgress,
  type Store,
  type StoreMaintenance,
} from "../domain/store.ts";
import {
  type CopiedCounts,
  CopyError,
  type CopySource,
  type CopyTarget,
  copyStore as copyBetween,
} from "../storage/copy.ts";
import { DatabaseError } from "../storage/postgres/connection/database-url.ts";
import { isOlderStore } from "../storage/sqlite/database.ts";
import { SqliteMaintenance } from "../storage/sqlite/maintenance/maintenance.ts";
import { StoreHeldError } from "../storage/sqlite/server-lock.ts";
import { openSqliteStore } from "../storage/sqlite/store.ts";
import { StoreFileError } from "../storage/sqlite/store-file.ts";
import { printable } from "./print/terminal.ts";

export type { CopiedCounts } from "../storage/copy.ts";

/*
 * The location of a store is a file, or the URL of a PostgreSQL database. PostgreSQL's driver is loaded only when it is
 * needed, because loading it takes as long as a small command. Code that only one command needs, such as `copy`, is
 * loaded in the same way.
 */

/** What a command does when the store is missing. */
type IfMissing = "create" | "refuse";

/** Opens the store, and closes it after use. Reports the creation of a store on stderr. */
export async function withStore<R>(
  location: string,
  ifMissing: IfMissing,
  use: (store: Store) => Promise<R>,
): Promise<R> {
  return closing(await openStore(location, ifMissing), use);
}

/** As `withStore`, but a missing store is an error. */
export function withExistingStore<R>(location: string, use: (store: Store) => Promise<R>): Promise<R> {
  return withStore(location, "refuse", use);
}

async function openStore(location: string, ifMissing: IfMissing): Promise<Store> {
  const created = () => {
    process.stderr.write(`${printable(`petstore: created a new store, ${maskCredentials(location)}`)}\n`);
  };
  if (isPostgresUrl(location)) {
    const { openPostgresStore } = await import("../storage/postgres/store.ts");
    return openPostgresStore(location, { ifMissing, created });
  }
  return showMigration(location, async (migrating) =>
    openSqliteStore(location, { writesDirectly: true, ifMissing, created, migrating }),
  );
}

/**
 * Calls `open`, which opens the store in a file and reports the progress of its migration. Shows the progress in a bar
 * on stderr if the store is older and stderr is a terminal.
 */
export async function showMigration<R>(location: string, open: (report?: ReportProgress) => Promise<R>): Promise<R> {
  if (!process.stderr.isTTY || isPostgresUrl(location) || !isOlderStore(location)) {
    return open();
  }
  // Loaded only here, because loading it takes as long as a small command.
  const { withProgress } = await import("./long-work.ts");
  return withProgress("migrating the store", open);
}

/** Returns what an import into the store would do. Changes nothing, and creates no store. */
export async function previewImport(location: string, imports: Imports): Promise<ImportResult> {
  if (isPostgresUrl(location)) {
    return (await import("../storage/postgres/import.ts")).previewImportInto(location, imports);
  }
  return (await import("../storage/sqlite/import.ts")).previewImportInto(location, imports);
}

/** Looks for faults in the store, a line for each. See `StoreMaintenance.check`. */
export async function checkStore(location: string, ...args: Parameters<StoreMaintenance["check"]>): Promise<string[]> {
  if (isPostgresUrl(location)) {
    const { checkDatabase } = await import("../storage/postgres/check.ts");
    return checkDatabase(location, args[1]);
  }
  return new SqliteMaintenance(location).check(...args);
}

/** Lists the servers that share the store in a database, by its URL. Changes nothing. */
export async function listServersOf(url: string): Promise<RegisteredServer[]> {
  const { listServersAt } = await import("../storage/postgres/servers.ts");
  return listServersAt(url);
}

/** The maintenance of a store that is kept in files, which may be damaged or missing; undefined for any other. */
export function maintenanceOf(location: string): StoreMaintenance | undefined {
  return isPostgresUrl(location) ? undefined : new SqliteMaintenance(location);
}

/** Copies a whole store to one that is missing or empty. See `storage/copy.ts`. */
export async function copyStore(from: string, to: string, report: ReportProgress): Promise<CopiedCounts> {
  await using source = await openCopySource(from);
  await using target = await openCopyTarget(to);
  return await copyBetween(source, target, report);
}

async function openCopySource(location: string): Promise<CopySource> {
  if (isPostgresUrl(location)) {
    return (await import("../storage/postgres/copy.ts")).openPostgresSource(location);
  }
  return (await import("../storage/sqlite/copy.ts")).openSqliteSource(location);
}

async function openCopyTarget(location: string): Promise<CopyTarget> {
  if (isPostgresUrl(location)) {
    return (await import("../storage/postgres/copy.ts")).openPostgresTarget(location);
  }
  const { SqliteTarget } = await import("../storage/sqlite/copy.ts");
  return new SqliteTarget(location);
}

const storeErrors = [StoreFileError, StoreHeldError, DatabaseError, CopyError];

/** Whether the message of an error says why a store cannot be used. */
export function isStoreError(error: unknown): boolean {
  return storeErrors.some((kind) => error instanceof kind);
}

async function closing<R>(store: Store, use: (store: Store) => Promise<R>): Promise<R> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
