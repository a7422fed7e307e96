import type { InventoryService, ListStockChangesRequest } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { readChangePage } from "../domain/page.ts";
import type { StockStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { changeToMessage } from "./messages.ts";

/** What the history needs. */
export interface HistoryServiceOptions {
  readonly store: Pick<StockStore, "historyBounds" | "listChanges" | "getEntry">;
  /** Changes before this time are no longer part of the history, in milliseconds since the Unix epoch. */
  readonly keptSinceMs: () => number;
}

/** The RPC that lists the history. */
export function listStockChanges({
  store,
  keptSinceMs,
}: HistoryServiceOptions): ServiceMethods<typeof InventoryService>["listStockChanges"] {
  return async (request) => {
    const { crossing, newestFirst, after, pageSize, pageToken } = request;
    const petIds = await petsOf(store, request);
    if (petIds === undefined) {
      return { changes: [], nextPageToken: "" };
    }
    const asked = { petIds, crossing, newestFirst, after, pageSize, pageToken: pageToken || undefined };
    const { changes, lineage, nextPageToken = "" } = await readChangePage(store, asked, keptSinceMs());
    return { changes: changes.map((change) => changeToMessage(change, lineage)), nextPageToken };
  };
}

/**
 * The pets that both filters let through: empty for all pets, undefined for none. Throws `PET_NOT_FOUND` where both are
 * given. Where one is given, the read of the changes throws it.
 */
async function petsOf(
  store: Pick<StockStore, "getEntry">,
  { pet, petId }: ListStockChangesRequest,
): Promise<readonly bigint[] | undefined> {
  if (pet === undefined || petId.length === 0) {
    return pet === undefined ? petId : [pet];
  }
  await Promise.all([pet, ...petId].map((id) => store.getEntry(id)));
  return petId.includes(pet) ? [pet] : undefined;
}
