/** What the requests for lists have in common. */
export interface PageRequest {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** How many items a page has when its request does not say: without any, the service would send all at once. */
const defaultPageSize = 1_000;

/**
 * The items of a list, page by page. The next page is not asked for before the last item of the one at hand is taken,
 * so that a slow reader slows the reading down; leaving the loop ends it.
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
