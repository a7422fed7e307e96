import { petStatuses } from "../../../domain/pet.ts";
import type { StockRefusal } from "../../../domain/stock.ts";
import type { BatchOutcome } from "../../../domain/store.ts";
import { versionOf } from "../../stored-stock.ts";
import type { StoredStock } from "../stock.ts";
import type { QueuedAnswer } from "./command-queue.ts";

/*
 * code = the status's place in `petStatuses` for a command that is done, else one of these
 */
const refusalCodes = { unknown_pet: -1, version_mismatch: -2, out_of_range: -3, insufficient: -4 } as const;

const inMessageCode = -5;

/** Stands in the queue for an outcome that does not fit there, such as a replay or an error: the message has that. */
export const inMessage: QueuedAnswer = { code: inMessageCode, quantity: 0n, revision: 0 };

export function answerDone({ status, quantity, revision }: StoredStock): QueuedAnswer {
  return { code: petStatuses.indexOf(status), quantity, revision: Number(revision) };
}

export function answerRefused(refusal: StockRefusal): QueuedAnswer {
  const quantity = refusal.outcome === "insufficient" ? refusal.available : 0n;
  return { code: refusalCodes[refusal.outcome], quantity, revision: 0 };
}

/** Whether a command has changed anything now. */
export function isChange({ revision }: QueuedAnswer): boolean {
  return revision > 0;
}

/** The revision after a group of commands; 0 where none has changed anything. */
export function lastRevision(answers: readonly QueuedAnswer[]): number {
  return answers.findLast(isChange)?.revision ?? 0;
}

/** Undefined where the group's message has the outcome. */
export function outcomeFromAnswer(
  petId: bigint,
  lineage: string,
  { code, quantity, revision }: QueuedAnswer,
): BatchOutcome | undefined {
  switch (code) {
    case inMessageCode:
      return undefined;
    case refusalCodes.unknown_pet:
      return { outcome: "unknown_pet" };
    case refusalCodes.version_mismatch:
      return { outcome: "version_mismatch" };
    case refusalCodes.out_of_range:
      return { outcome: "out_of_range" };
    case refusalCodes.insufficient:
      return { outcome: "insufficient", available: quantity };
    default: {
      const status = petStatuses[code] as StoredStock["status"];
      return { outcome: "done", entry: { petId, quantity, status, version: versionOf(lineage, revision) } };
    }
  }
}
