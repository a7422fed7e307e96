/** What the requests for lists have in common. */
export interface PageRequest {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** The items of a page when the request names no number. Without a number the service would send all at once. */
const defaultPageSize = 1_000;

/**
 * The items of a list, page by page. The next page is requested once the reader has taken the last item of this one, so
 * a slow reader slows the requests down. Leaving the loop ends them.
 */
export async function* followPages<Request extends PageRequest, Page extends { readonly nextPageToken: string }, Item>(
  request: Request,
  list: (request: Request) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): AsyncGenerator<Item, void, undefined> {
  let pageToken = request.pageToken ?? "";
  do {
    const page = await list({ ...request, pageSize: request.pageSize ?? defaultPageSize, pageToken });
    yield* itemsOf(page);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}
