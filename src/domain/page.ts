import { crc32 } from "node:zlib";
import { invalidPageToken } from "./errors.ts";
import type { ListQuery } from "./pet-store.ts";

/** The largest page. A larger page size is cut to this. Source: docs/contract.md#lists */
export const maxPageSize = 10_000;

/** Which page of a list a client asks for. */
export interface PageRequest<Status extends string> {
  /** Only entries with one of these; empty for all. */
  readonly statuses: readonly Status[];
  /** At least 1: the request's field rules say so. Undefined for all remaining entries. */
  readonly pageSize: number | undefined;
  /** Undefined for the first page. */
  readonly pageToken: string | undefined;
}

/** One page of a list. */
export interface Page<Item> {
  readonly items: Item[];
  /** Leads to the next page; undefined on the last. */
  readonly nextPageToken: string | undefined;
}

/** A list that can be read by pages. */
export interface PagedList<Item, Status extends string> {
  /** The name that its tokens are bound to. */
  readonly name: string;
  read(query: ListQuery<Status>): Promise<Item[]>;
  idOf(item: Item): bigint;
}

/** Reads one page of a list. Throws `INVALID_PAGE_TOKEN`, and what the list throws. */
export async function readPage<Item, Status extends string>(
  list: PagedList<Item, Status>,
  request: PageRequest<Status>,
): Promise<Page<Item>> {
  const query = listQueryOf(list.name, request);
  if (query.limit === undefined) {
    return { items: await list.read(query), nextPageToken: undefined };
  }
  // One entry more than the page holds tells whether there is a next page.
  const items = await list.read({ ...query, limit: query.limit + 1 });
  const last = items[query.limit - 1];
  if (items.length <= query.limit || last === undefined) {
    return { items, nextPageToken: undefined };
  }
  const position = { list: list.name, statuses: request.statuses, after: list.idOf(last) };
  return { items: items.slice(0, query.limit), nextPageToken: issuePageToken(position) };
}

/** Turns a page request into a list query: reads its token, and cuts its size. Throws `INVALID_PAGE_TOKEN`. */
export function listQueryOf<Status extends string>(
  list: string,
  { statuses, pageSize, pageToken }: PageRequest<Status>,
): ListQuery<Status> {
  return {
    statuses,
    after: pageToken === undefined ? undefined : parsePageToken(pageToken, { list, statuses }),
    limit: pageSize === undefined ? undefined : Math.min(pageSize, maxPageSize),
  };
}

/** A position in a list with a filter: the next page begins after an id. */
export interface PagePosition {
  /** The list's name: a token of one list is not valid for another. */
  readonly list: string;
  /** The filter. Order and repetition make no difference. */
  readonly statuses: readonly string[];
  readonly after: bigint;
}

/*
 * token = base64url( version:1 check:4 after:8 ), the numbers big-endian
 * check = the CRC-32 of the list, the filter and the id, so that the token need not carry the first two
 */
const version = 1;
const byteLength = 13;

/** Makes the opaque token that leads to a page. */
export function issuePageToken(position: PagePosition): string {
  const bytes = Buffer.alloc(byteLength);
  bytes.writeUInt8(version, 0);
  bytes.writeUInt32BE(checkOf(position), 1);
  bytes.writeBigInt64BE(position.after, 5);
  return bytes.toString("base64url");
}

/**
 * Returns the id after which the page begins. Throws `INVALID_PAGE_TOKEN` for any token that was not issued, letter by
 * letter, for this list and filter.
 */
export function parsePageToken(token: string, belongsTo: Omit<PagePosition, "after">): bigint {
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== byteLength) {
    throw invalidPageToken();
  }
  const after = bytes.readBigInt64BE(5);
  if (issuePageToken({ ...belongsTo, after }) !== token) {
    throw invalidPageToken();
  }
  return after;
}

function checkOf({ list, statuses, after }: PagePosition): number {
  const filter = [...new Set(statuses)].sort();
  return crc32(JSON.stringify([list, filter, after.toString()]));
}
