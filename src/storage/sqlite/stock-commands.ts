import { DomainError } from "../../domain/errors.ts";
import { decideStock, dependsOnHolds, type StockCommand, stockRefusalError } from "../../domain/stock.ts";
import type { BatchOutcome, WriteContext, Written } from "../../domain/stock-store.ts";
import type { Connection } from "./connection.ts";
import { noteExpiredOf } from "./hold-expiry.ts";
import { doOnce, recall, remember } from "./idempotency.ts";
import { findStock, writeStock } from "./stock.ts";

/**
 * Does a command once, and returns what becomes of it. A refusal is not remembered. Throws `IDEMPOTENCY_KEY_REUSED`. To
 * be called in a transaction.
 */
export function changeStock(
  connection: Connection,
  command: StockCommand,
  context: WriteContext,
): Written<BatchOutcome> {
  const remembered = recall<BatchOutcome>(connection, context);
  if (remembered !== undefined) {
    return { value: remembered, isReplayed: true };
  }
  const value = carryOut(connection, command, context);
  if (value.outcome === "done") {
    remember(connection, context, value);
  }
  return { value, isReplayed: false };
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
      : commands.map((command) => carryOut(connection, command, context)),
  );
}

function carryOutOrThrow(connection: Connection, command: StockCommand, context: WriteContext, index: number) {
  const outcome = carryOut(connection, command, context);
  if (outcome.outcome !== "done") {
    const { code, message } = stockRefusalError(command.petId, outcome);
    throw new DomainError(code, `changes[${index}]: ${message}`);
  }
  return outcome;
}

function carryOut(connection: Connection, command: StockCommand, context: WriteContext): BatchOutcome {
  const stock = findStock(connection, command.petId);
  const held = stock && dependsOnHolds(command) ? noteExpiredOf(connection, stock, context.nowMs) : 0n;
  const decision = decideStock(command, stock, held);
  if (stock === undefined || decision.outcome !== "done") {
    return decision as Exclude<typeof decision, { readonly outcome: "done" }>;
  }
  const { kind, reason, reference } = command;
  const entry = writeStock(connection, stock, { kind, reason, reference, quantity: decision.quantity }, context);
  return { outcome: "done", entry };
}
