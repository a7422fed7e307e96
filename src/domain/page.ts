import { crc32 } from "node:zlib";
import { cursorExpired, invalidPageToken } from "./errors.ts";
import { type ChangeQuery, type HistoryBounds, isNextKept, parseCursor, type StockChange } from "./history.ts";
import type { StockStore } from "./store.ts";

/** The largest page. A larger page size is cut to this. Source: docs/contract.md#lists */
export const maxPageSize = 10_000;

/** Which page of a list a client asks for. */
export interface PageRequest {
  /** At least 1: the request's field rules say so. Undefined for all remaining entries. */
  readonly pageSize: number | undefined;
  /** Undefined for the first page. */
  readonly pageToken: string | undefined;
}

/** One page of a list. */
interface Page<Item> {
  readonly items: Item[];
  /** Leads to the next page; undefined on the last. */
  readonly nextPageToken: string | undefined;
}

/** A list and its filter: a token of one is not valid for another. */
export interface ListIdentity {
  /** The list's name. */
  readonly name: string;
  /** What is selected. Order and repetition make no difference. */
  readonly filter: readonly string[];
}

/** A list, with its filter, that can be read by pages. */
export interface PagedList<Item> extends ListIdentity {
  /** Reads the entries after a position, in the list's order, at most `limit`. */
  read(after: bigint | undefined, limit: number): Promise<Item[]>;
  /** Where an entry stands in the list. */
  positionOf(item: Item): bigint;
}

/** Reads one page of a list. Throws `INVALID_PAGE_TOKEN`, and what the list throws. */
export async function readPage<Item>(
  list: PagedList<Item>,
  request: PageRequest & { readonly pageSize: number },
): Promise<Page<Item>> {
  const limit = Math.min(request.pageSize, maxPageSize);
  // One entry more than the page holds tells whether there is a next page.
  const items = await list.read(pageStart(list, request), limit + 1);
  const last = items[limit - 1];
  if (items.length <= limit || last === undefined) {
    return { items, nextPageToken: undefined };
  }
  return { items: items.slice(0, limit), nextPageToken: issuePageToken(list, list.positionOf(last)) };
}

/** The position after which a page begins; undefined for the first one. Throws `INVALID_PAGE_TOKEN`. */
export function pageStart(list: ListIdentity, { pageToken }: PageRequest): bigint | undefined {
  return pageToken === undefined ? undefined : parsePageToken(list, pageToken);
}

/** The largest page of changes, and the usual one. Source: docs/contract.md#history */
const [maxChanges, usualChanges] = [1_000, 100];

/** Which page of the history a client asks for. */
export interface ChangePageRequest extends PageRequest, Pick<ChangeQuery, "crossing" | "newestFirst"> {
  /** Only changes of these pets: empty for all, undefined for none. */
  readonly petIds: ChangeQuery["petIds"] | undefined;
  /** A cursor: only the changes after it. Undefined for all that are kept. */
  readonly after: string | undefined;
}

/** One page of the history. */
export interface AnsweredChanges {
  readonly changes: readonly StockChange[];
  /** The history's lineage, which the changes' cursors contain. */
  readonly lineage: string;
  /** Leads to the next page; undefined on the last. A short page is not always the last one. */
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
  const pageSize = Math.min(request.pageSize ?? usualChanges, maxChanges);
  const list = identityOf(request, lineage);
  const range = rangeOf(request, pageStart(list, request), bounds);
  const { petIds, crossing, newestFirst } = request;
  if (petIds === undefined) {
    return { changes: [], lineage, nextPageToken: undefined };
  }
  // One change more than the page holds tells whether there is a next page.
  const query = { petIds, crossing, newestFirst, ...range, limit: pageSize + 1 };
  const { changes, searchedTo } = await store.listChanges(query);
  const next = changes.length > pageSize ? changes[pageSize - 1]?.revision : searchedTo;
  return {
    changes: changes.length > pageSize ? changes.slice(0, pageSize) : changes,
    lineage,
    nextPageToken: next === undefined ? undefined : issuePageToken(list, next),
  };
}

function identityOf({ petIds, crossing, newestFirst, after }: ChangePageRequest, lineage: string): ListIdentity {
  const filter = [`lineage ${lineage}`, ...(petIds ?? ["none"]).map((petId) => `pet ${petId}`)];
  filter.push(`crossing ${crossing}`, `after ${after}`, `newest first ${newestFirst}`);
  return { name: "changes", filter };
}

/** `start` is the revision after which the page begins; undefined for the first one. */
function rangeOf(
  { newestFirst, after }: ChangePageRequest,
  start: bigint | undefined,
  bounds: HistoryBounds,
): Pick<ChangeQuery, "after" | "before"> {
  if (start !== undefined && start < 0n) {
    // The check of a token keeps nobody from making one.
    throw invalidPageToken();
  }
  // A later page of an ascending list begins at its token: the changes after the cursor may be deleted by then.
  const isLaterPage = start !== undefined && !newestFirst;
  const oldest = isLaterPage ? 0n : bounds.oldest;
  const lowest = after === undefined ? bounds.oldest - 1n : parseCursor(after, { ...bounds, oldest });
  if (!isLaterPage) {
    return { after: lowest, before: start };
  }
  if (!isNextKept(start, bounds)) {
    throw cursorExpired();
  }
  return { after: start };
}

/*
 * token = base64url( version:1 check:4 after:8 ), the numbers big-endian
 * check = the CRC-32 of the list, the filter and the position, so that the token need not carry the first two
 */
const version = 1;
const byteLength = 13;

/** Makes the opaque token that leads to the page after a position. */
export function issuePageToken(list: ListIdentity, after: bigint): string {
  const bytes = Buffer.alloc(byteLength);
  bytes.writeUInt8(version, 0);
  bytes.writeUInt32BE(checkOf(list, after), 1);
  bytes.writeBigInt64BE(after, 5);
  return bytes.toString("base64url");
}

/**
 * Returns the position after which the page begins. Throws `INVALID_PAGE_TOKEN` for a token that is not exactly what
 * `issuePageToken` makes for this list and filter.
 */
export function parsePageToken(list: ListIdentity, token: string): bigint {
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== byteLength) {
    throw invalidPageToken();
  }
  const after = bytes.readBigInt64BE(5);
  if (issuePageToken(list, after) !== token) {
    throw invalidPageToken();
  }
  return after;
}

function checkOf({ name, filter }: ListIdentity, after: bigint): number {
  return crc32(JSON.stringify([name, [...new Set(filter)].sort(), after.toString()]));
}
