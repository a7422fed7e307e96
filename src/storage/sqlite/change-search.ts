import type { ChangeQuery } from "../../domain/history.ts";
import { greaterOf, lesserOf } from "../../domain/ranges.ts";
import type { Connection, Value } from "./connection.ts";

/** The most revisions that one call goes through: a millisecond or two. */
const maxSearched = 10_000n;

/** The revisions above `low`, and up to `high`. */
export interface RevisionRange {
  readonly low: bigint;
  readonly high: bigint;
}

/** What a search of the history has found. */
export interface Search {
  /** Of the changes, in the order asked for. */
  readonly revisions: readonly bigint[];
  /** The last revision that was searched, in this order. */
  readonly reached: bigint;
}

/** A condition on rows of `changes`, and its values. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Which changes match, as far as their counts tell. */
export function matchesOf(crossing: bigint | undefined): Condition {
  return crossing === undefined
    ? { sql: "true", values: [] }
    : { sql: "(before > ? AND after <= ?)", values: [crossing, crossing] };
}

/** Goes through the next revisions, which have no gap: without a filter through no more than are wanted. */
export function searchRevisions(
  connection: Connection,
  { petIds, crossing, limit, newestFirst }: ChangeQuery,
  range: RevisionRange,
): Search {
  const isFiltered = crossing !== undefined || petIds.length > 0;
  const count = isFiltered ? maxSearched : lesserOf(BigInt(limit), maxSearched);
  const low = newestFirst ? greaterOf(range.low, range.high - count) : range.low;
  const high = newestFirst ? range.high : lesserOf(range.high, range.low + count);
  const matches = matchesOf(crossing);
  const ofPets = petIds.length === 0 ? "true" : "pet_id IN (SELECT value FROM json_each(?))";
  const rows = connection.all<{ revision: bigint }>(
    `SELECT revision FROM changes WHERE revision > ? AND revision <= ? AND ${matches.sql} AND ${ofPets}
     ORDER BY revision ${newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    low,
    high,
    ...matches.values,
    ...(petIds.length === 0 ? [] : [`[${petIds.join(",")}]`]),
    BigInt(limit),
  );
  return { revisions: rows.map(({ revision }) => revision), reached: newestFirst ? low + 1n : high };
}
