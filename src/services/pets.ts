import type { PetService } from "../../gen/petstore/v1/pet_service_pb.ts";
import type { PetStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { petStatusMessages } from "./messages.ts";

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
