import {
  type AdjustStock,
  batchRefusalError,
  decideStock,
  dependsOnHolds,
  entryOf,
  type StockCommand,
  type StockEntry,
  type StockRefusal,
  stockRefusalError,
} from "../../../domain/stock.ts";
import type { BatchOutcome, WriteContext, Written } from "../../../domain/store.ts";
import type { Connection } from "../connection.ts";
import { findStillHeld } from "../holds.ts";
import { recall, remember } from "../idempotency.ts";
import { StockWrites } from "../stock.ts";
import { type StoredStock, stockCacheOf } from "../stock-cache.ts";
import { type CommandColumns, columnsOfAnswers, commandsOfColumns, type OutcomeColumns } from "./batch-columns.ts";
import { answerDone, answerRefused, type QueuedAnswer } from "./command-queue.ts";

/** The result of a command. With `replayed`, the command was done before, and `entry` is the result of that time. */
export type CommandResult =
  | { readonly outcome: "done"; readonly stock: StoredStock }
  | { readonly outcome: "replayed"; readonly entry: StockEntry }
  | StockRefusal;

/** What a command needs to run. */
interface CommandSetting {
  readonly connection: Connection;
  /** Collects the writes, which are not stored yet. It has read the stock of the command's pet. */
  readonly writes: StockWrites;
  readonly context: WriteContext;
}

/** Does a command once. A refusal is not remembered. Throws `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction. */
export function changeStock(command: StockCommand, setting: CommandSetting): CommandResult {
  const { connection, context } = setting;
  const entry = recall<StockEntry>(connection, context);
  if (entry !== undefined) {
    return { outcome: "replayed", entry };
  }
  const result = carryOut(command, setting);
  if (result.outcome === "done") {
    remember(connection, context, entryOf(result.stock));
  }
  return result;
}

/** As `changeStock`, but throws a refusal as an error, and flushes the write. To be called in a transaction. */
export function changeStockOrThrow(
  connection: Connection,
  command: StockCommand,
  context: WriteContext,
): Written<StockEntry> {
  const writes = new StockWrites(connection, [command.petId]);
  const result = changeStock(command, { connection, writes, context });
  switch (result.outcome) {
    case "done":
      writes.flush();
      return { value: entryOf(result.stock), isReplayed: false };
    case "replayed":
      return { value: result.entry, isReplayed: true };
    default:
      throw stockRefusalError(command.petId, result);
  }
}

/** The outcomes of a batch: of now, or of the time when it was done before. */
type WrittenBatch =
  | { readonly value: OutcomeColumns; readonly isReplayed: false }
  | { readonly value: readonly BatchOutcome[]; readonly isReplayed: true };

/**
 * Does commands in their order, once. With `atomic` it throws the error of the first refusal, and has changed no stock
 * then. To be called in a transaction.
 */
export function changeStockInBatch(
  connection: Connection,
  columns: CommandColumns,
  atomic: boolean,
  context: WriteContext,
): WrittenBatch {
  const outcomes = recall<readonly BatchOutcome[]>(connection, context);
  if (outcomes !== undefined) {
    return { value: outcomes, isReplayed: true };
  }
  const commands = commandsOfColumns(columns);
  const setting = { connection, writes: new StockWrites(connection, [...columns.petIds]), context };
  const results = atomic ? carryOutAll(commands, setting) : commands.map((each) => carryOut(each, setting));
  setting.writes.flush();
  if (context.idempotency !== undefined) {
    remember(connection, context, results.map(toOutcome));
  }
  return { value: columnsOfAnswers(stockCacheOf(connection).lineage, results.map(toAnswer)), isReplayed: false };
}

/** Throws the error of the first refusal. */
function carryOutAll(commands: readonly StockCommand[], setting: CommandSetting): Decided[] {
  try {
    return commands.map((command, index) => carryOutOrThrow(command, setting, index));
  } catch (error) {
    setting.writes.discard();
    throw error;
  }
}

function carryOutOrThrow(command: StockCommand, setting: CommandSetting, index: number): Decided {
  const result = carryOut(command, setting);
  if (result.outcome !== "done") {
    throw batchRefusalError(index, command.petId, result);
  }
  return result;
}

type Decided = Exclude<CommandResult, { readonly outcome: "replayed" }>;

function toOutcome(result: Decided): BatchOutcome {
  return result.outcome === "done" ? { outcome: "done", entry: entryOf(result.stock) } : result;
}

function toAnswer(result: Decided): QueuedAnswer {
  return result.outcome === "done" ? answerDone(result.stock) : answerRefused(result);
}

function carryOut(command: StockCommand, setting: CommandSetting): Decided {
  const { writes, context } = setting;
  const held = dependsOnHolds(command) ? heldFor(command, setting) : 0n;
  const stock = writes.find(command.petId);
  const decision = decideStock(command, stock, held);
  if (decision.outcome !== "done") {
    return decision;
  }
  const { kind, reason, reference } = command;
  const write = { kind, quantity: decision.quantity, reason, reference };
  return { outcome: "done", stock: writes.write(command.petId, write, context) };
}

/** How many of the command's pet are held. Stores holds as expired: see `findStillHeld`. */
function heldFor({ petId, delta }: AdjustStock, { connection, writes, context }: CommandSetting): bigint {
  const stock = writes.find(petId);
  if (stock === undefined) {
    return 0n;
  }
  return findStillHeld(connection, stock, { nowMs: context.nowMs, heldAtMost: stock.quantity + delta });
}
