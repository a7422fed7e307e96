import { minInt64 } from "../../domain/ranges.ts";
import type { ListQuery } from "../../domain/store/pet-store.ts";
import type { Value } from "./connection/connection.ts";

/** The end of a SELECT, and its values from `$1` on. */
export interface ListClause {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Turns a list query into SQL, for any table that has a `status`, and an id in the named column. */
export function createListClause(id: string, { statuses, after, limit }: ListQuery<string>): ListClause {
  const wanted = [...new Set(statuses)];
  return {
    sql: `WHERE ${id} ${after === undefined ? ">=" : ">"} $1 ${filterSql(wanted)} ORDER BY ${id} LIMIT $3`,
    values: [
      after ?? minInt64,
      wanted.length === 1 ? (wanted[0] as string) : wanted,
      limit === undefined ? null : BigInt(limit),
    ],
  };
}

/** For one status the index is sorted by id; several would have to be sorted, so all ids are gone through. */
function filterSql(statuses: readonly string[]): string {
  if (statuses.length === 0) {
    return "AND $2::text[] IS NOT NULL";
  }
  return statuses.length === 1 ? "AND status = $2" : "AND status = ANY ($2)";
}
