import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  ListInventoryRequestSchema,
  type ListInventoryResponse,
  ListInventoryResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { InventoryItem } from "../../src/domain/catalog.ts";
import type { Call } from "../../src/rpc/call.ts";
import { PreparedMessage } from "../../src/rpc/prepared-message.ts";
import { listInventory } from "../../src/services/inventory.ts";

/** A list of so many pets behind the RPC, with the reads of the store. */
class ListedStock {
  reads = 0;
  /** The read within which the call ends. */
  lastRead = Number.POSITIVE_INFINITY;
  readonly #call = new AbortController();
  position = { lineage: "0123456789ab", revision: 0n };
  readonly items: InventoryItem[];
  readonly #list;

  constructor(count: number) {
    this.items = Array.from({ length: count }, (_, index) => {
      return { petId: BigInt(index), quantity: 1n, status: "available" };
    });
    this.#list = listInventory({
      store: {
        listInventory: async ({ after = -1n, limit }) => {
          this.reads += 1;
          if (this.reads === this.lastRead) {
            this.#call.abort();
          }
          return this.items.filter(({ petId }) => petId > after).slice(0, limit);
        },
      },
      stock: { caughtUp: async () => this.position },
    });
  }

  /** Sets the stock of the first pet. */
  change(quantity: bigint): void {
    this.items[0] = { petId: 0n, quantity, status: "available" };
    this.position = { ...this.position, revision: this.position.revision + 1n };
  }

  async list(request: MessageInitShape<typeof ListInventoryRequestSchema> = {}): Promise<ListInventoryResponse> {
    const response = await this.answer(request);
    return response instanceof PreparedMessage ? response.whole() : create(ListInventoryResponseSchema, response);
  }

  answer(request: MessageInitShape<typeof ListInventoryRequestSchema> = {}) {
    return this.#list(create(ListInventoryRequestSchema, request), this.#call as Pick<Call, "signal"> as Call);
  }
}

describe("a short list of everything", () => {
  it("is read once until something changes", async () => {
    const stock = new ListedStock(20);
    const first = await stock.list();
    expect(await stock.list()).toEqual(first);
    expect(stock.reads).toBe(1);
    stock.change(7n);
    const second = await stock.list();
    expect(second.items[0]?.quantity).toBe(7n);
    expect(second.cursor).not.toBe(first.cursor);
    expect(stock.reads).toBe(2);
  });

  it("has bytes that are the message", async () => {
    const stock = new ListedStock(20);
    const response = (await stock.answer()) as PreparedMessage<ListInventoryResponse>;
    const bytes = response.binary?.();
    expect(bytes).toEqual(toBinary(ListInventoryResponseSchema, await stock.list()));
    expect(response.binary?.()).toBe(bytes);
  });

  it("is a message of its own for each interceptor that may change it", async () => {
    const stock = new ListedStock(2);
    (await stock.list()).items.length = 0;
    expect((await stock.list()).items).toHaveLength(2);
  });

  it("is no answer to a question for a page, or for a status", async () => {
    const stock = new ListedStock(20);
    await stock.list();
    expect((await stock.list({ pageSize: 3 })).items).toHaveLength(3);
    await stock.list({ status: [1] });
    expect(stock.reads).toBe(3);
    expect((await stock.list()).items).toHaveLength(20);
    expect(stock.reads).toBe(3);
  });
});

it("keeps no long list", async () => {
  const stock = new ListedStock(600);
  expect((await stock.list()).items).toHaveLength(600);
  const { reads } = stock;
  await stock.list();
  expect(stock.reads).toBe(2 * reads);
});

it.each<[form: string, read: (list: PreparedMessage) => Promise<unknown>]>([
  ["as a whole", (list) => list.whole()],
  ["in parts", (list) => Array.fromAsync(list.parts?.() ?? [])],
])("reads no more of a long list for a call that has ended: %s", async (_form, read) => {
  const stock = new ListedStock(5_000);
  stock.lastRead = 3;
  await expect(read((await stock.answer()) as PreparedMessage)).rejects.toThrow("aborted");
  expect(stock.reads).toBe(3);
});
