import { issuePageToken, parsePageToken } from "./page-token.ts";
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
