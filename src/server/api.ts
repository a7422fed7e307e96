import { createRegistry } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { Logger } from "pino";
import { HoldService } from "../../gen/petstore/v1/hold_service_pb.ts";
import { InventoryItemSchema } from "../../gen/petstore/v1/inventory_pb.ts";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { LimitService } from "../../gen/petstore/v1/limit_service_pb.ts";
import { PetService } from "../../gen/petstore/v1/pet_service_pb.ts";
import { StoreService } from "../../gen/petstore/v1/store_service_pb.ts";
import type { InventoryItem } from "../domain/catalog.ts";
import type { DomainError } from "../domain/errors.ts";
import { keptSinceMs } from "../domain/history.ts";
import type { RateLimiter } from "../domain/limits.ts";
import type { KeyFinder, Store } from "../domain/store.ts";
import { createGateway, type Gateway } from "../gateway/gateway.ts";
import { authInterceptor, callerKey, createIdentify, scopesInterceptor } from "../interceptors/auth.ts";
import { deprecationInterceptor, sunsetInterceptor } from "../interceptors/deprecation.ts";
import { createErrorReporter, errorStatuses, errorToRest, type Failure } from "../interceptors/errors.ts";
import { idempotencyInterceptor, idempotencyKey } from "../interceptors/idempotency.ts";
import { limitsInterceptor, limitsKey } from "../interceptors/limits.ts";
import { eventsOf, headerOf, locationOf, successStatus } from "../interceptors/operation.ts";
import { KeyStreams, type StreamPlaces } from "../interceptors/streams.ts";
import { createValidation } from "../interceptors/validation.ts";
import { JsonWriters } from "../proto-json/json-writer.ts";
import type { ToError } from "../rpc/call.ts";
import { createEndpoints, createNotFoundEndpoint, type EndpointOptions } from "../rpc/endpoint.ts";
import { createRpcHandler, type RpcHandler } from "../rpc/rpc-handler.ts";
import { throttleAndCount } from "../scheduling/timing.ts";
import { petService, storeService } from "../services/catalog.ts";
import { holdService } from "../services/holds.ts";
import { inventoryService, restListInventory } from "../services/inventory.ts";
import { InventoryListCache, type ListCacheState } from "../services/inventory-list-cache.ts";
import { limitService } from "../services/limits.ts";
import { inventoryItemToMessage } from "../services/messages.ts";
import { StockFeed } from "../services/stock-feed.ts";
import { StockRevision } from "../services/stock-revision.ts";
import { createStockWriter } from "../services/stock-writer.ts";
import type { ExternalChangeWatcher } from "../storage/external-changes.ts";
import { restJson } from "./rest-json.ts";

/** The size of the largest message of an RPC, in bytes. Source: docs/contract.md#rpcs */
const rpcMaxBytes = 4 * 1024 * 1024;

/** The services of the API. */
export const apiServices = [InventoryService, PetService, StoreService, HoldService, LimitService] as const;

/** What the API needs. */
export interface ApiOptions {
  readonly store: Store;
  readonly externalChanges: ExternalChangeWatcher;
  readonly keys: KeyFinder;
  readonly limiter: RateLimiter;
  readonly streamPlaces: StreamPlaces | undefined;
  readonly clock: () => number;
  /** Aborts when the server stops serving. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
  readonly maxBodyBytes: number;
  readonly historyRetentionMs: number;
  /** Is told how long changes took to reach all streams, in milliseconds. */
  readonly observeLag: (lagMs: number) => void;
  readonly enforceSunset: boolean;
  /**
   * See every call before its message is read; none by default. The first one is the outermost. These and the next are
   * for who embeds the API: the server itself gives none. docs/decisions.md says how Connect's interceptors take part.
   */
  readonly callInterceptors?: readonly Interceptor[];
  /** See admitted calls with their messages, before validation; none by default. */
  readonly messageInterceptors?: readonly Interceptor[];
}

/** The API's services over REST and as RPCs, behind the same interceptors. Only the inventory list differs. */
export interface Api {
  readonly rest: Gateway;
  readonly rpc: RpcHandler;
  /** Converts failures to the errors that clients see, and logs those for which the service is to blame. */
  readonly toError: ToError;
  /** The state of the REST list cache. */
  readonly listCache: () => ListCacheState;
  /** The streams of keys. */
  readonly streams: () => KeyStreams["counts"];
  /** Loads what the first calls would otherwise wait for. */
  prepare(): Promise<unknown>;
  /** Logs the failures that are held back. */
  readonly flushLog: () => void;
}

/**
 * Logs why calls fail. While they fail with `UNAVAILABLE`, only one line in ten seconds tells of each reason: `unlogged`
 * counts the others.
 */
export function createFailureReport(logger: Logger): FailureReport {
  const log = ({ code, cause, requestId }: Failure, others: number) =>
    logger.error({ err: cause, code, requestId, ...(others > 0 && { unlogged: others }) }, "a call failed");
  const unavailable = throttleAndCount(({ cause }) => (cause as Error | undefined)?.message, log);
  return {
    report: (failure) => (failure.code === "UNAVAILABLE" ? unavailable.take(failure) : log(failure, 0)),
    flush: unavailable.flush,
  };
}

/** The log of why calls fail. */
interface FailureReport {
  readonly report: (failure: Failure) => void;
  /** Logs what is held back. */
  readonly flush: () => void;
}

/** Makes the API of a store. */
export function createApi(options: ApiOptions): Api {
  const { store, logger, maxBodyBytes } = options;
  const failures = createFailureReport(logger);
  const toError = createErrorReporter(failures.report);
  const { interceptors, streams, validation } = createInterceptors(options);
  const notFoundEndpoint = createNotFoundEndpoint(interceptors);

  const registry = createRegistry(...apiServices);
  const stock = createStockServices(options, new JsonWriters(restJson, registry));
  const others = [
    ...createEndpoints(PetService, petService(store), interceptors),
    ...createEndpoints(StoreService, storeService(store), interceptors),
    ...createEndpoints(HoldService, stock.holds, interceptors),
    ...createEndpoints(LimitService, limitService(limitsKey), interceptors),
  ];
  const rest = [...createEndpoints(InventoryService, stock.restInventory, interceptors), ...others];
  const rpc = [...createEndpoints(InventoryService, stock.inventory, interceptors), ...others];
  return {
    rest: createGateway({
      endpoints: rest,
      notFoundEndpoint,
      json: restJson,
      toError,
      errorBody: errorToRest,
      headerOf,
      eventsOf,
      successStatus,
      locationOf,
      maxBodyBytes,
      registry,
    }),
    rpc: createRpcHandler({ endpoints: rpc, notFoundEndpoint, readMaxBytes: rpcMaxBytes, registry, toError }),
    toError,
    listCache: () => stock.listCache.state,
    streams: () => streams.counts,
    prepare: validation.prepare,
    flushLog: failures.flush,
  };
}

/** What happens to every call, in this order: see ARCHITECTURE.md. */
function createInterceptors(options: ApiOptions) {
  const { keys, limiter, clock, externalChanges, enforceSunset } = options;
  const identify = createIdentify(keys, clock);
  const streams = new KeyStreams({
    identify,
    onKeysChanged: (listener) => externalChanges.subscribe("keys", listener),
    clock,
    stopping: options.stopping,
    places: options.streamPlaces,
  });
  const validation = createValidation(apiServices.flatMap(({ methods }) => methods.map(({ input }) => input)));
  const interceptors: EndpointOptions = {
    callInterceptors: [
      ...(options.callInterceptors ?? []),
      deprecationInterceptor(limiter.keys),
      authInterceptor(identify),
      streams,
      limitsInterceptor(limiter),
      scopesInterceptor,
    ],
    messageInterceptors: [
      ...(options.messageInterceptors ?? []),
      validation.interceptor,
      idempotencyInterceptor,
      ...(enforceSunset ? [sunsetInterceptor(clock)] : []),
    ],
  };
  return { interceptors, streams, validation };
}

/** Creates the services of the stock. The inventory differs over REST, where the whole list comes from a cache. */
function createStockServices(options: ApiOptions, writers: JsonWriters) {
  const { store, externalChanges, clock, historyRetentionMs, observeLag, stopping } = options;
  const writeMessage = writers.message(InventoryItemSchema);
  const listCache = new InventoryListCache({
    read: (range) => store.listInventory({ statuses: [], ...range }),
    write: (item: InventoryItem) => writeMessage(inventoryItemToMessage(item)),
  });
  const isShared = store.listServers !== undefined;
  const stock = new StockRevision(store.followed, listCache, { isShared, stopping });
  const invalidate = () => stock.invalidate();
  externalChanges.subscribe("stock", invalidate);
  externalChanges.onUncounted(() => stock.invalidateAll());
  const feed = new StockFeed(store.followed, stock, (madeAtMs) => observeLag(clock() - madeAtMs));

  const write = createStockWriter({ clock, callerKey, idempotencyKey, onUncertain: invalidate });
  const inventory = inventoryService({
    store,
    stock,
    feed,
    write,
    clock,
    keptSinceMs: () => keptSinceMs(historyRetentionMs, clock()),
    errorToMessage,
  });
  return {
    inventory,
    restInventory: { ...inventory, listInventory: restListInventory(inventory.listInventory, { listCache, stock }) },
    holds: holdService({ store, write, clock }),
    listCache,
  };
}

/** The message `petstore.v1.Error`, with the code, message and status that a separate request would get. */
function errorToMessage({ code, message }: DomainError) {
  return { code, message, status: errorStatuses[code].http };
}
