import { existsSync } from "node:fs";
import type { ImportResult, Imports } from "../../../domain/import.ts";
import { Connection, fromDriverError } from "../connection.ts";
import { assertUsable, type DatabaseOptions, openDatabase } from "../database.ts";
import { resolveStore, toStoreFileError } from "../files/store-path.ts";
import { migrate } from "../migrations.ts";
import { previewImport } from "./import.ts";

/**
 * Returns what an import into the store in a file would do, and changes nothing: creates no store, and migrates none.
 * Throws what the import would throw, and `StoreFileError`.
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

/** Opens the store. Where the import would create one, opens an empty store in memory. */
function openForPreview(file: string, ifMissing: "create" | "refuse"): Connection {
  try {
    const isToBeMade = ifMissing === "create" && !existsSync(file);
    return (isToBeMade ? undefined : openExisting(file)) ?? openEmpty();
  } catch (error) {
    throw toStoreFileError(error, file);
  }
}

/** Undefined for an empty file. */
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
