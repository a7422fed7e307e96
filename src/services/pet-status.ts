import { PetStatus as PetStatusMessage } from "../../gen/petstore/v1/pet_status_pb.ts";
import type { PetStatus } from "../domain/pet.ts";

const messages = {
  available: PetStatusMessage.AVAILABLE,
  pending: PetStatusMessage.PENDING,
  sold: PetStatusMessage.SOLD,
} as const satisfies Record<PetStatus, PetStatusMessage>;

const statuses = new Map<PetStatusMessage, PetStatus>(
  Object.entries(messages).map(([status, message]) => [message, status as PetStatus]),
);

export function petStatusToMessage(status: PetStatus): PetStatusMessage {
  return messages[status];
}

/** The message's rules have seen to it that there is such a status. */
export function petStatusFromMessage(message: PetStatusMessage): PetStatus {
  return statuses.get(message) as PetStatus;
}
