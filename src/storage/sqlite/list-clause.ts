import { minInt64 } from "../../domain/ranges.ts";
import type { ListQuery } from "../../domain/store/pet-store.ts";
import type { Value } from "./connection.ts";

/** The end of a SELECT, and its values. */
export interface ListClause {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Turns a list query into SQL, for any table that has a `status`, and an id in the named column. */
export function createListClause(id: string, { statuses, after, limit }: ListQuery<string>): ListClause {
  const wanted = [...new Set(statuses)];
  return {
    sql: `WHERE ${id} ${after === undefined ? ">=" : ">"} ? ${filterSql(wanted.length)} ORDER BY ${id} LIMIT ?`,
    values: [after ?? minInt64, ...wanted, BigInt(limit ?? -1)],
  };
}

/**
 * For one status SQLite uses the index, which is sorted by id within a status. For several statuses it would have to
 * sort all matches first: the `+` keeps it from the index, so that it goes through the ids in order.
 */
function filterSql(count: number): string {
  if (count === 0) {
    return "";
  }
  return count === 1 ? "AND status = ?" : `AND +status IN (${Array(count).fill("?").join(", ")})`;
}
