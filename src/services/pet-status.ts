import { PetStatus as PetStatusMessage } from "../../gen/petstore/v1/pet_status_pb.ts";
import type { PetStatus } from "../domain/pet.ts";
import { createStatusMap } from "./status-map.ts";

/** From the status of a pet to that of its messages, and back. */
export const { toMessage: petStatusToMessage, fromMessage: petStatusFromMessage } = createStatusMap<
  PetStatus,
  PetStatusMessage
>({
  available: PetStatusMessage.AVAILABLE,
  pending: PetStatusMessage.PENDING,
  sold: PetStatusMessage.SOLD,
});
