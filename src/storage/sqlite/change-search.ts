import type { Value } from "./connection.ts";

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
