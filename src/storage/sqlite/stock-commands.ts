import { DomainError } from "../../domain/errors.ts";
import {
  type AdjustStock,
  decideStock,
  dependsOnHolds,
  type StockCommand,
  type StockEntry,
  type StockRefusal,
  stockRefusalError,
} from "../../domain/stock.ts";
import type { BatchOutcome, WriteContext, Written } from "../../domain/stock-store.ts";
import type { Connection } from "./connection.ts";
import { judgeHolds } from "./hold-expiry.ts";
import { doOnce, recall, remember } from "./idempotency.ts";
import { entryOf, findStock, type StoredStock, writeStock } from "./stock.ts";

/** What becomes of a command: `replayed` is what became of it before. */
export type CommandResult =
  | { readonly outcome: "done"; readonly stock: StoredStock }
  | { readonly outcome: "replayed"; readonly entry: StockEntry }
  | StockRefusal;

/**
 * Does a command once. A refusal is not remembered. Throws `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction.
 */
export function changeStock(connection: Connection, command: StockCommand, context: WriteContext): CommandResult {
  const entry = recall<StockEntry>(connection, context);
  if (entry !== undefined) {
    return { outcome: "replayed", entry };
  }
  const result = carryOut(connection, command, context);
  if (result.outcome === "done") {
    remember(connection, context, entryOf(result.stock));
  }
  return result;
}

/** As `changeStock`, but throws what is a refusal. To be called in a transaction. */
export function changeStockOrThrow(
  connection: Connection,
  command: StockCommand,
  context: WriteContext,
): Written<StockEntry> {
  const result = changeStock(connection, command, context);
  switch (result.outcome) {
    case "done":
      return { value: entryOf(result.stock), isReplayed: false };
    case "replayed":
      return { value: result.entry, isReplayed: true };
    default:
      throw stockRefusalError(command.petId, result);
  }
}

/**
 * Does commands in their order, once. With `atomic` it throws the error of the first refusal, and has changed nothing
 * then. To be called in a transaction.
 */
export function changeStockInBatch(
  connection: Connection,
  commands: readonly StockCommand[],
  atomic: boolean,
  context: WriteContext,
): Written<readonly BatchOutcome[]> {
  return doOnce(connection, context, () =>
    atomic
      ? connection.atomically(() =>
          commands.map((command, index) => carryOutOrThrow(connection, command, context, index)),
        )
      : commands.map((command) => toOutcome(carryOut(connection, command, context))),
  );
}

function carryOutOrThrow(
  connection: Connection,
  command: StockCommand,
  context: WriteContext,
  index: number,
): BatchOutcome {
  const result = carryOut(connection, command, context);
  if (result.outcome !== "done") {
    const { code, message } = stockRefusalError(command.petId, result);
    throw new DomainError(code, `changes[${index}]: ${message}`);
  }
  return toOutcome(result);
}

type Decided = Exclude<CommandResult, { readonly outcome: "replayed" }>;

function toOutcome(result: Decided): BatchOutcome {
  return result.outcome === "done" ? { outcome: "done", entry: entryOf(result.stock) } : result;
}

function carryOut(connection: Connection, command: StockCommand, context: WriteContext): Decided {
  const stock = findStock(connection, command.petId);
  const held = stock && dependsOnHolds(command) ? heldFor(connection, command, stock, context) : 0n;
  const decision = decideStock(command, stock, held);
  if (decision.outcome !== "done") {
    return decision;
  }
  const { kind, reason, reference } = command;
  const write = { kind, quantity: decision.quantity, reason, reference };
  return { outcome: "done", stock: writeStock(connection, stock as StoredStock, write, context) };
}

function heldFor(connection: Connection, { delta }: AdjustStock, stock: StoredStock, { nowMs }: WriteContext): bigint {
  return judgeHolds(connection, stock, { nowMs, heldAtMost: stock.quantity + delta });
}
