import type { Input, Operation, Output } from "../../support/operations.ts";
import type { Interval } from "../linearisation.ts";

/** The operations that concern stock. */
export type StockOperation = Exclude<Operation, "getPet" | "listOrders" | "getLimits">;

/** A call that was answered, perhaps after some attempts in vain. Times are in milliseconds of the Unix epoch. */
export type StockCall = { [O in StockOperation]: AnyStockCall<O> }[StockOperation];

interface AnyStockCall<O extends StockOperation> extends Interval {
  readonly operation: O;
  /** Writes have references of their own, but for the ends of holds. */
  readonly input: Input<O>;
  readonly message?: Output<O> | undefined;
  /** Of a refusal. */
  readonly code?: string | undefined;
  readonly text?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly isReplayed: boolean;
  /** How often it was sent: an attempt without an answer may have been done. */
  readonly attempts: number;
}

/** The call as a line, for whoever must find out why it does not fit. */
export function describeCall({ operation, input, message, code, isReplayed, startMs, endMs }: StockCall): string {
  const write = (value: unknown) =>
    JSON.stringify(value, (name, each) =>
      name.startsWith("$") ? undefined : typeof each === "bigint" ? `${each}` : each,
    );
  const answer = code ?? `${isReplayed ? "replayed " : ""}${write(message)}`;
  return `${operation} ${write(input)} from ${startMs} to ${endMs}: ${answer}`;
}

/** A call of one operation. */
export type CallOf<O extends StockOperation> = Extract<StockCall, { operation: O }>;
