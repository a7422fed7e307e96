import { cursorExpired } from "./errors.ts";
import { type ChangeQuery, type HistoryBounds, parseCursor, type StockChange } from "./history.ts";
import { issuePageToken, type ListIdentity, type PageRequest, pageStart } from "./page.ts";
import type { StockStore } from "./store/stock-store.ts";

/** The largest page of changes, and the usual one. Source: docs/contract.md#history */
const [maxPageSize, usualPageSize] = [1_000, 100];

/** Which page of the history a client asks for. */
export interface ChangePageRequest extends PageRequest, Pick<ChangeQuery, "petIds" | "crossing" | "newestFirst"> {
  /** A cursor: only the changes after it. Undefined for all that are kept. */
  readonly after: string | undefined;
}

/** One page of the history. */
export interface AnsweredChanges {
  readonly changes: readonly StockChange[];
  /** The history's lineage, which the changes' cursors contain. */
  readonly lineage: string;
  /** Leads to the next page; undefined on the last. A page before it may be short. */
  readonly nextPageToken: string | undefined;
}

/**
 * Reads one page of the history. Changes before `keptSinceMs` are no longer part of it. Throws `INVALID_REQUEST`,
 * `INVALID_PAGE_TOKEN`, `CURSOR_EXPIRED` and `PET_NOT_FOUND`.
 */
export async function readChangePage(
  store: Pick<StockStore, "historyBounds" | "listChanges">,
  request: ChangePageRequest,
  keptSinceMs: number,
): Promise<AnsweredChanges> {
  const bounds = await store.historyBounds(keptSinceMs);
  const { lineage } = bounds;
  const pageSize = Math.min(request.pageSize ?? usualPageSize, maxPageSize);
  const list = identityOf(request, lineage);
  // One change more than the page holds tells whether there is a next page.
  const query = { ...queryOf(request, pageStart(list, request), bounds), limit: pageSize + 1 };
  const { changes, searchedTo } = await store.listChanges(query);
  const next = changes.length > pageSize ? changes[pageSize - 1]?.revision : searchedTo;
  return {
    changes: changes.length > pageSize ? changes.slice(0, pageSize) : changes,
    lineage,
    nextPageToken: next === undefined ? undefined : issuePageToken(list, next),
  };
}

function identityOf({ petIds, crossing, newestFirst, after }: ChangePageRequest, lineage: string): ListIdentity {
  const filter = [`lineage ${lineage}`, ...petIds.map((petId) => `pet ${petId}`)];
  filter.push(`crossing ${crossing}`, `after ${after}`, `newest first ${newestFirst}`);
  return { name: "changes", filter };
}

/** `start` is the revision after which the page begins; undefined for the first one. */
function queryOf(
  { petIds, crossing, newestFirst, after }: ChangePageRequest,
  start: bigint | undefined,
  bounds: HistoryBounds,
): Omit<ChangeQuery, "limit"> {
  const filter = { petIds, crossing, newestFirst };
  // A later page of an ascending list begins at its token: by then the changes after the cursor may have been deleted.
  const isPassed = start !== undefined && !newestFirst;
  const oldest = isPassed ? 0n : bounds.oldest;
  const lowest = after === undefined ? bounds.oldest - 1n : parseCursor(after, { ...bounds, oldest });
  if (!isPassed) {
    return { ...filter, after: lowest, before: start };
  }
  if (start + 1n < bounds.oldest) {
    throw cursorExpired();
  }
  return { ...filter, after: start };
}
