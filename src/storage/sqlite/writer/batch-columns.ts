import type { StockCommand } from "../../../domain/stock.ts";
import type { BatchOutcome } from "../../../domain/store.ts";
import { amountOf, commandOf, kindOf, outcomeFromAnswer, type QueuedAnswer } from "./command-queue.ts";

/*
 * A batch goes to the writing thread, and its outcomes come back, in columns. Threads copy what they send each other,
 * and an array of numbers is copied at once, where objects are copied one by one.
 */

/** The commands of a batch. */
export interface CommandColumns {
  readonly petIds: BigInt64Array;
  readonly kinds: Uint8Array;
  readonly amounts: BigInt64Array;
  /** What most commands lack; undefined where all do. */
  readonly rest: readonly CommandRest[] | undefined;
}

type CommandRest = Pick<StockCommand, "versions" | "reason" | "reference">;

/** The outcomes of a batch, in the order of its commands. */
export interface OutcomeColumns {
  /** The lineage of the history. */
  readonly lineage: string;
  readonly codes: Int8Array;
  readonly quantities: BigInt64Array;
  readonly revisions: Float64Array;
}

/** Puts commands into columns. */
export function columnsOfCommands(commands: readonly StockCommand[]): CommandColumns {
  const hasRest = commands.some((each) => each.versions !== undefined || (each.reason ?? each.reference) !== undefined);
  return {
    petIds: BigInt64Array.from(commands, ({ petId }) => petId),
    kinds: Uint8Array.from(commands, kindOf),
    amounts: BigInt64Array.from(commands, amountOf),
    rest: hasRest ? commands.map(({ versions, reason, reference }) => ({ versions, reason, reference })) : undefined,
  };
}

/** The commands that `columnsOfCommands` has put into columns. */
export function commandsOfColumns({ petIds, kinds, amounts, rest }: CommandColumns): StockCommand[] {
  return Array.from(petIds, (petId, index) =>
    commandOf(kinds[index] as number, amounts[index] as bigint, { petId, ...rest?.[index] }),
  );
}

/** Puts the answers to commands into columns. */
export function columnsOfAnswers(lineage: string, answers: readonly QueuedAnswer[]): OutcomeColumns {
  return {
    lineage,
    codes: Int8Array.from(answers, ({ code }) => code),
    quantities: BigInt64Array.from(answers, ({ quantity }) => quantity),
    revisions: Float64Array.from(answers, ({ revision }) => revision),
  };
}

/** The outcomes in the answers that `columnsOfAnswers` has put into columns. `petIds` are those of the commands. */
export function outcomesOfColumns(
  petIds: BigInt64Array,
  { lineage, codes, quantities, revisions }: OutcomeColumns,
): BatchOutcome[] {
  return Array.from(petIds, (petId, index) => {
    const [code, quantity, revision] = [codes[index], quantities[index], revisions[index]];
    return outcomeFromAnswer(petId, lineage, { code, quantity, revision } as QueuedAnswer) as BatchOutcome;
  });
}
