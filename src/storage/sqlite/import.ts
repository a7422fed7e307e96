import type { Connection } from "./connection.ts";

/** How rows of one kind are gathered in a temporary table of a connection, and then put in all at once. */
export interface Staging<Item> {
  create(connection: Connection): void;
  stage(connection: Connection, item: Item): void;
  merge(connection: Connection): void;
}

/**
 * Puts all of the items in, or none, over a connection of its own. Returns how many it took. However slow the items
 * come, others write meanwhile: temporary tables are no part of the store, and its lock is held for the merge only.
 */
export async function importAll<Item>(
  connection: Connection,
  staging: Staging<Item>,
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<number> {
  let count = 0;
  staging.create(connection);
  connection.run("BEGIN");
  for await (const item of items) {
    staging.stage(connection, item);
    count += 1;
  }
  connection.run("COMMIT");
  connection.atomically(() => staging.merge(connection));
  return count;
}
