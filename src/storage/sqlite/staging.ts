import type { Connection } from "./connection.ts";

/** How rows of one kind are gathered in a temporary table of a connection, and then put in all at once. */
export interface Staging<Item> {
  create(connection: Connection): void;
  stage(connection: Connection, item: Item): void;
  merge(connection: Connection): void;
}

/** Gathers all of the items, and returns how many there were. */
export async function stageAll<Item>(
  connection: Connection,
  staging: Staging<Item>,
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<number> {
  let count = 0;
  staging.create(connection);
  for await (const item of items) {
    staging.stage(connection, item);
    count += 1;
  }
  return count;
}
