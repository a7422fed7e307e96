import type { ImportCounts, Imports } from "../../domain/store.ts";
import type { Connection } from "./connection.ts";
import { orderStaging } from "./orders.ts";
import { petStaging } from "./pets.ts";
import { stageAll } from "./staging.ts";

/**
 * Puts all of the pets and orders in, or none, over a connection of its own. Returns how many it took. However slow
 * they come, others write meanwhile: temporary tables are no part of the store, and its lock is held for the merge
 * only.
 */
export async function importAll(connection: Connection, { pets = [], orders = [] }: Imports): Promise<ImportCounts> {
  connection.run("BEGIN");
  const counts = {
    pets: await stageAll(connection, petStaging, pets),
    orders: await stageAll(connection, orderStaging, orders),
  };
  connection.run("COMMIT");
  connection.atomically(() => {
    petStaging.merge(connection);
    orderStaging.merge(connection);
  });
  return counts;
}
