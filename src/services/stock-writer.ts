import type { ContextKey } from "@connectrpc/connect";
import { DomainError, deadlineExceeded, isUnavailable, storeUnavailable } from "../domain/errors.ts";
import type { Idempotency } from "../domain/idempotency.ts";
import type { Key } from "../domain/key.ts";
import type { WriteContext, Written } from "../domain/store.ts";
import type { Call } from "../rpc/call.ts";

/** Runs a write of the store for a call. Resolves to its result; rejects as the write does, and at the deadline. */
export type StockWriter = <T>(call: Call, write: (context: WriteContext) => Promise<Written<T>>) => Promise<T>;

/** What writes need. */
interface StockWriterOptions {
  readonly clock: () => number;
  /** The context value with the caller of a call. */
  readonly callerKey: ContextKey<{ readonly key: Key | undefined } | undefined>;
  /** The context value with the idempotency key of a call, if it has one. */
  readonly idempotencyKey: ContextKey<Idempotency | undefined>;
  /** Called when a write has failed, and may yet take effect. */
  readonly onUncertain: () => void;
}

/**
 * Creates the function that runs every write of a call. It tells the store who writes and when, keeps to the deadline,
 * and marks the answer to a replayed write.
 */
export function createStockWriter({ clock, callerKey, idempotencyKey, onUncertain }: StockWriterOptions): StockWriter {
  return async (call, write) => {
    const leftMs = call.deadline && call.deadline.atMs - performance.now();
    // The caller gets `DEADLINE_EXCEEDED`, which promises that nothing has changed.
    if (leftMs !== undefined && leftMs <= 0) {
      throw deadlineExceeded();
    }
    const key = call.contextValues.get(callerKey)?.key;
    const idempotency = call.contextValues.get(idempotencyKey);
    if (key === undefined) {
      throw new Error("a write came without the key of its caller");
    }
    const writing = write({ nowMs: clock(), keyId: key.id, requestId: call.exchange.requestId, idempotency });
    try {
      const { value, isReplayed } = await (leftMs === undefined
        ? writing
        : untilDeadline(Math.max(leftMs, diskPatienceMs), writing));
      if (isReplayed) {
        call.responseHeader.set("idempotency-replayed", "true");
      }
      return value;
    } catch (error) {
      if (!(error instanceof DomainError) || isUnavailable(error)) {
        onUncertain();
      }
      throw error;
    }
  };
}

/**
 * A write that is on its way to the disk gets at least this long, in milliseconds. Only a stuck disk takes longer. So
 * no write fails on a healthy disk because of a short deadline.
 */
const diskPatienceMs = 1_000;

/**
 * Waits for a write until the deadline, then rejects with `UNAVAILABLE`. The write may still be made when the disk
 * answers. So `DEADLINE_EXCEEDED`, which promises that nothing has changed, would be wrong.
 */
async function untilDeadline<T>(ms: number, writing: Promise<T>): Promise<T> {
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const reason = () => storeUnavailable(new Error("a write still waited for the disk at its deadline"));
  const timer = setTimeout(() => reject(reason()), ms);
  try {
    return await Promise.race([writing, passed]);
  } finally {
    clearTimeout(timer);
  }
}
