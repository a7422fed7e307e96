import { existsSync } from "node:fs";
import type { ImportResult, Imports } from "../../../domain/import.ts";
import { Connection } from "../connection.ts";
import { assertUsable, type DatabaseOptions, openDatabase, resolveStore, toStoreFileError } from "../database.ts";
import { fromDriverError } from "../driver-error.ts";
import { migrate } from "../migrations.ts";
import { previewImport } from "./import.ts";

/**
 * Tells what an import into the store in a file would do, and changes nothing: a missing store is not made, and an older
 * one stays as it is. Throws what the import would, and `StoreFileError`.
 */
export async function previewImportInto(
  file: string,
  imports: Imports,
  { ifMissing = "create" }: Pick<DatabaseOptions, "ifMissing"> = {},
): Promise<ImportResult> {
  const connection = openForPreview(file, ifMissing);
  try {
    return await previewImport(connection, imports);
  } catch (error) {
    throw fromDriverError(error);
  } finally {
    connection.close();
  }
}

/** Where the import would create the store, an empty one in memory stands for it. */
function openForPreview(file: string, ifMissing: "create" | "refuse"): Connection {
  try {
    const isToBeMade = ifMissing === "create" && !existsSync(file);
    return (isToBeMade ? undefined : openExisting(file)) ?? openEmpty();
  } catch (error) {
    throw toStoreFileError(error, file);
  }
}

/** Undefined for an empty file, which an import would make a store of. */
function openExisting(file: string): Connection | undefined {
  const connection = openDatabase(resolveStore(file, "refuse"));
  try {
    if (assertUsable(connection, file) === "store") {
      return connection;
    }
  } catch (error) {
    connection.close();
    throw error;
  }
  connection.close();
  return undefined;
}

function openEmpty(): Connection {
  const connection = new Connection(":memory:");
  migrate(connection);
  return connection;
}
