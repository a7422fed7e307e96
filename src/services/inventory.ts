import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ContextKey } from "@connectrpc/connect";
import type { ErrorSchema } from "../../gen/petstore/v1/error_pb.ts";
import type { InventoryChange } from "../../gen/petstore/v1/inventory_pb.ts";
import type {
  AdjustInventoryRequest,
  InventoryService,
  UpdateInventoryRequest,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { DomainError, deadlineExceeded, storeUnavailable } from "../domain/errors.ts";
import type { Idempotency } from "../domain/idempotency.ts";
import type { Key } from "../domain/key.ts";
import { fromEtag, parseIfMatch, type StockCommand, stockRefusalError } from "../domain/stock.ts";
import type { BatchOutcome, StockStore, WriteContext, Written } from "../domain/store.ts";
import type { Call } from "../rpc/call.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { listStockChanges, type WatchOptions, watchStockChanges } from "./history.ts";
import { type InventoryListOptions, listInventory } from "./inventory-list.ts";
import { entryToMessage, inventoryItemToMessage } from "./messages.ts";

/** What the inventory needs. */
export interface InventoryServiceOptions extends InventoryListOptions, WatchOptions {
  readonly store: StockStore;
  readonly write: StockWriter;
  readonly clock: () => number;
  /** The message that an error is in the answer to a batch. */
  readonly errorToMessage: (error: DomainError) => MessageInitShape<typeof ErrorSchema>;
}

/** The RPCs of the inventory. */
export function inventoryService(options: InventoryServiceOptions): ServiceMethods<typeof InventoryService> {
  const { store, write, clock } = options;
  return {
    listInventory: listInventory(options),
    listStockChanges: listStockChanges(options),
    watchStockChanges: watchStockChanges(options),

    async getInventory({ petId }) {
      return entryToMessage(await store.getEntry(petId));
    },

    async getAvailability({ petId }) {
      return { availability: await store.getAvailability(petId, clock()) };
    },

    async updateInventory(request, call) {
      const command = toUpdate(request);
      return entryToMessage(await write(call, (context) => store.changeStock(command, context)));
    },

    async adjustInventory(request, call) {
      const command = toAdjustment(request);
      return entryToMessage(await write(call, (context) => store.changeStock(command, context)));
    },

    async batchUpdateInventory({ changes, atomic }, call) {
      const commands = changes.map(toCommand);
      const outcomes = await write(call, (context) => store.changeStockInBatch(commands, atomic, context));
      return { results: commands.map((command, index) => toResult(command, outcomes[index] as BatchOutcome, options)) };
    },
  };
}

/** The field rules say that there is an update, and a quantity in it. */
function toUpdate({ petId, update, etag }: UpdateInventoryRequest): StockCommand {
  const { quantity, reason, reference } = update as NonNullable<typeof update>;
  return { kind: "set", petId, quantity: quantity as bigint, reason, reference, versions: versionsOf(etag) };
}

/** The field rules say that there is an adjustment, and a delta in it. */
function toAdjustment({ petId, adjustment, etag }: AdjustInventoryRequest): StockCommand {
  const { delta, allowNegative, reason, reference } = adjustment as NonNullable<typeof adjustment>;
  return {
    kind: "adjust",
    petId,
    delta: delta as bigint,
    allowNegative,
    reason,
    reference,
    versions: versionsOf(etag),
  };
}

function versionsOf(etag: string | undefined): readonly string[] | undefined {
  return etag === undefined ? undefined : parseIfMatch(etag);
}

/** The field rules say that a change has a pet, one of a quantity and a delta, and no `etag` but a strong one or `*`. */
function toCommand(change: InventoryChange): StockCommand {
  const { quantity, delta, allowNegative, reason, reference, etag } = change;
  const versions = etag === undefined || etag === "*" ? undefined : [fromEtag(etag)];
  const common = { petId: change.petId as bigint, versions, reason, reference };
  return quantity === undefined
    ? { ...common, kind: "adjust", delta: delta as bigint, allowNegative }
    : { ...common, kind: "set", quantity };
}

/** What one change of a batch is answered. */
function toResult(
  { petId }: StockCommand,
  outcome: BatchOutcome,
  { errorToMessage }: Pick<InventoryServiceOptions, "errorToMessage">,
) {
  return outcome.outcome === "done"
    ? { petId, item: inventoryItemToMessage(outcome.entry) }
    : { petId, error: errorToMessage(stockRefusalError(petId, outcome)) };
}

/** Runs a write of the store for a call. Resolves to its result; rejects as the write does, and at the deadline. */
export type StockWriter = <T>(call: Call, write: (context: WriteContext) => Promise<Written<T>>) => Promise<T>;

/** What writes need. */
export interface StockWriterOptions {
  readonly clock: () => number;
  /** The context value with the caller of a call. */
  readonly callerKey: ContextKey<{ readonly key: Key | undefined } | undefined>;
  /** The context value with the idempotency key of a call, if it has one. */
  readonly idempotencyKey: ContextKey<Idempotency | undefined>;
  /** Called when a write has failed, and may yet take effect. */
  readonly onUncertain: () => void;
}

/**
 * Creates what every write of a call passes: it tells who asks and when, keeps to the deadline, and marks the answer of a
 * replay.
 */
export function createStockWriter({ clock, callerKey, idempotencyKey, onUncertain }: StockWriterOptions): StockWriter {
  return async (call, write) => {
    const leftMs = call.deadline && call.deadline.atMs - Date.now();
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
        : settledWithin(Math.max(leftMs, diskPatienceMs), writing));
      if (isReplayed) {
        call.responseHeader.set("idempotency-replayed", "true");
      }
      return value;
    } catch (error) {
      if (!(error instanceof DomainError) || error.code === "UNAVAILABLE") {
        onUncertain();
      }
      throw error;
    }
  };
}

/**
 * The least time that a write on its way to the disk gets, in milliseconds. Only a stuck disk takes longer, so a short
 * deadline makes no write fail on a healthy one.
 */
const diskPatienceMs = 1_000;

/**
 * Waits for a write until the deadline, then rejects with `UNAVAILABLE`. The write may still be made when the disk
 * answers. So `DEADLINE_EXCEEDED`, which promises that nothing has changed, would be wrong.
 */
async function settledWithin<T>(ms: number, writing: Promise<T>): Promise<T> {
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const reason = () => storeUnavailable(new Error("a write still waited for the disk at its deadline"));
  const timer = setTimeout(() => reject(reason()), ms);
  try {
    return await Promise.race([writing, passed]);
  } finally {
    clearTimeout(timer);
  }
}
