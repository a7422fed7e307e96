import { setImmediate } from "node:timers/promises";
import type { Message } from "@bufbuild/protobuf";
import { listQueryOf, type PagedList, type PageRequest, readPage } from "../domain/page.ts";
import { PreparedMessage } from "../rpc/prepared-message.ts";

/** A list, and how its entries become a message. */
export interface MessageList<Item, Status extends string, M extends Message> extends PagedList<Item, Status> {
  toMessage(items: readonly Item[], nextPageToken: string): M;
}

/** How many entries of a whole list are read at a time: about a millisecond of the event loop. */
const partLength = 512;

/**
 * The answer to a request for a page, or for all that remains. A long one comes in parts: other calls go on between
 * them, and entries that change meanwhile may stand in it as they were or as they are. Throws `INVALID_PAGE_TOKEN`, and
 * what the list throws.
 */
export async function answerList<Item, Status extends string, M extends Message>(
  list: MessageList<Item, Status, M>,
  request: PageRequest<Status>,
): Promise<M | PreparedMessage<M>> {
  if (request.pageSize !== undefined) {
    const { items, nextPageToken = "" } = await readPage(list, request);
    return list.toMessage(items, nextPageToken);
  }
  const query = { ...listQueryOf(list.name, request), limit: partLength };
  const first = await list.read(query);
  if (first.length < partLength) {
    return list.toMessage(first, "");
  }

  async function* pages(): AsyncGenerator<readonly Item[]> {
    let items = first;
    while (items.length > 0) {
      yield items;
      await setImmediate();
      const last = items.at(-1);
      const isEnd = last === undefined || items.length < partLength;
      items = isEnd ? [] : await list.read({ ...query, after: list.idOf(last) });
    }
  }
  async function* parts(): AsyncGenerator<M> {
    for await (const items of pages()) {
      yield list.toMessage(items, "");
    }
  }
  const whole = async () => list.toMessage((await Array.fromAsync(pages())).flat(), "");
  return new PreparedMessage({ whole, parts });
}
