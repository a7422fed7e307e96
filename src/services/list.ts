import { setImmediate } from "node:timers/promises";
import type { Message } from "@bufbuild/protobuf";
import { type PagedList, type PageRequest, pageStart, readPage } from "../domain/page.ts";
import type { Call } from "../rpc/call.ts";
import { PreparedMessage } from "../rpc/prepared-message.ts";

/** A list, and how its entries become a message. */
interface MessageList<Item, M extends Message> extends PagedList<Item> {
  toMessage(items: readonly Item[], nextPageToken: string): M;
  /** The fields that every message has beside its entries. */
  readonly fields?: Partial<M>;
}

/** How many entries of a whole list are read at a time: about a millisecond of the event loop. */
const partLength = 512;

/**
 * The answer to a request for a page, or for all that remains. A long list comes in parts, and other calls go on
 * between the parts. Reading ends with the call. Throws `INVALID_PAGE_TOKEN`, and what the list throws.
 */
export async function answerList<Item, M extends Message>(
  list: MessageList<Item, M>,
  request: PageRequest,
  call: Pick<Call, "signal">,
): Promise<M | PreparedMessage<M>> {
  const { pageSize, pageToken } = request;
  if (pageSize !== undefined) {
    const { items, nextPageToken = "" } = await readPage(list, { pageSize, pageToken });
    return list.toMessage(items, nextPageToken);
  }
  const first = await list.read(pageStart(list, request), partLength);
  if (first.length < partLength) {
    return list.toMessage(first, "");
  }

  async function* pages(): AsyncGenerator<readonly Item[]> {
    let items = first;
    while (items.length > 0) {
      yield items;
      await setImmediate();
      call.signal.throwIfAborted();
      const last = items.at(-1);
      const isEnd = last === undefined || items.length < partLength;
      items = isEnd ? [] : await list.read(list.positionOf(last), partLength);
    }
  }
  async function* parts(): AsyncGenerator<M> {
    for await (const items of pages()) {
      yield list.toMessage(items, "");
    }
  }
  const whole = async () => list.toMessage((await Array.fromAsync(pages())).flat(), "");
  return new PreparedMessage({ whole, parts, fields: list.fields ?? {} });
}
