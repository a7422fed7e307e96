import type { Order, OrderStatus, Pet, StockedPet } from "../pet.ts";
import type { WaitOptions } from "./store.ts";

/** Selects entries of a list: those with an id above `after`, by ascending id, at most `limit`. */
export interface ListQuery<Status> {
  /** Only entries with one of these statuses; empty for all. */
  readonly statuses: readonly Status[];
  readonly after: bigint | undefined;
  readonly limit: number | undefined;
}

/** Keeps the pets. */
export interface PetStore {
  /** Throws `PET_NOT_FOUND`. */
  getPet(id: bigint): Promise<Pet>;
  /** All pets by ascending id, as of one moment. */
  exportPets(options?: WaitOptions): AsyncIterable<StockedPet>;
  countPets(): Promise<number>;
}

/** Keeps the orders. */
export interface OrderStore {
  listOrders(query: ListQuery<OrderStatus>, options?: WaitOptions): Promise<Order[]>;
  /** All orders by ascending id, as of one moment. */
  exportOrders(options?: WaitOptions): AsyncIterable<Order>;
  countOrders(): Promise<number>;
}
