import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { PetService } from "../../gen/petstore/v1/pet_service_pb.ts";
import { ListOrdersResponseSchema, type StoreService } from "../../gen/petstore/v1/store_service_pb.ts";
import type { Order } from "../domain/catalog.ts";
import type { OrderStore, PetStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { answerList } from "./list.ts";
import { orderStatusFromMessage, orderStatusMessages, petStatusMessages } from "./messages.ts";

/** The RPCs of the pets. */
export function petService(store: PetStore): ServiceMethods<typeof PetService> {
  return {
    async getPet({ petId }) {
      const { id, name, category, photoUrls, tags, status } = await store.getPet(petId);
      return {
        pet: { id, name, category, photoUrls: [...photoUrls], tags: [...tags], status: petStatusMessages[status] },
      };
    },
  };
}

/** The RPCs of the store's orders. */
export function storeService(store: OrderStore): ServiceMethods<typeof StoreService> {
  return {
    async listOrders({ pageSize, pageToken, status }, call) {
      const statuses = status.map(orderStatusFromMessage);
      const orders = {
        name: "orders",
        filter: statuses,
        read: (after: bigint | undefined, limit: number) => store.listOrders({ statuses, after, limit }),
        positionOf: ({ id }: Order) => id,
        toMessage: (items: readonly Order[], nextPageToken: string) =>
          create(ListOrdersResponseSchema, { orders: items.map(orderToMessage), nextPageToken }),
      };
      return await answerList(orders, { pageSize, pageToken: pageToken || undefined }, call);
    },
  };
}

function orderToMessage({ shipDateMs, status, ...order }: Order) {
  return { ...order, shipDate: timestampFromMs(shipDateMs), status: orderStatusMessages[status] };
}
