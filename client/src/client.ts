import { createClient } from "@connectrpc/connect";
import { parseBaseUrl } from "./base-url.ts";
import type { CallOptions } from "./call-options.ts";
import { fieldValues } from "./field-values.ts";
import type {
  Hold,
  HoldClient,
  InventoryClient,
  InventoryItem,
  LimitClient,
  ListHoldsRequest,
  ListInventoryRequest,
  ListOrdersRequest,
  ListStockChangesRequest,
  Order,
  PetClient,
  StockChange,
  StoreClient,
} from "./gen/api.ts";
import { HoldService } from "./gen/petstore/v1/hold_service_pb.ts";
import { InventoryService } from "./gen/petstore/v1/inventory_service_pb.ts";
import { LimitService } from "./gen/petstore/v1/limit_service_pb.ts";
import { PetService } from "./gen/petstore/v1/pet_service_pb.ts";
import { StoreService } from "./gen/petstore/v1/store_service_pb.ts";
import { idempotencyKeys } from "./idempotency.ts";
import type { ApiKey } from "./key.ts";
import { createKeyInterceptor } from "./key-interceptor.ts";
import { readLeavableStream } from "./leavable-stream.ts";
import type { Limits } from "./limits.ts";
import { createLimitsInterceptor } from "./limits-interceptor.ts";
import { networkErrors } from "./network-errors.ts";
import { followPages } from "./pages.ts";
import { createRetryInterceptor } from "./retry.ts";
import { createRetryPolicy, type RetryOverrides } from "./retry-policy.ts";
import { longTimeouts } from "./timeout.ts";
import { systemTiming, type Timing } from "./timing.ts";
import { createTransport } from "./transport.ts";
import type { Transport, TransportOptions } from "./transport-option.ts";
import { mirrorInventory } from "./watch/followed-inventory.ts";
import type { InventoryMirror, InventoryMirrorOptions } from "./watch/inventory-mirror.ts";
import { ReconnectingWatch } from "./watch/reconnecting-watch.ts";
import type { StockWatch, StockWatchOptions } from "./watch/stock-watch.ts";

/** Options of a client. */
export interface PetstoreClientOptions {
  /** The address of the service, such as `https://petstore.example/v1`; its `/v1` may be left out. */
  readonly baseUrl: string;
  /** Sent to the origin of `baseUrl`, and to no other. */
  readonly apiKey: ApiKey;
  /**
   * Makes the transport, such as `createGrpcTransport` of `@connectrpc/connect-node`. It must pass on its options.
   * Default: Connect over `fetch`
   */
  readonly transport?: ((options: TransportOptions) => Transport) | undefined;
  /** Overrides of `defaultRetryPolicy`. */
  readonly retry?: RetryOverrides | undefined;
  /** Called with the limits of each answer, failures included. What it throws fails the call, whatever the answer. */
  readonly onLimits?: ((limits: Limits) => void) | undefined;
  /** Clock, timers and randomness of retries, for tests. Default: the system's */
  readonly timing?: Timing | undefined;
}

/**
 * The services. Every call that fails rejects with a `ConnectError` of `@connectrpc/connect`: `reasonOf` reads why the
 * service refused it, `codeOf` its canonical code, `fieldViolationsOf` the fields at fault.
 */
export interface PetstoreClient {
  /** The stock of the pets. */
  readonly inventory: InventoryClient;
  /** Holds on the stock. */
  readonly holds: HoldClient;
  /** The pets themselves. */
  readonly pets: PetClient;
  /** The orders. */
  readonly store: StoreClient;
  /** The limits of the key. Asking is free of charge. */
  readonly keyLimits: LimitClient;
  /** The limits of the last answer; undefined before the first. */
  readonly limits: Limits | undefined;
  /**
   * All stock entries that the request selects, page by page: 1,000 a page, unless `pageSize` says otherwise. The
   * options hold for each page's call. Rejects as `inventory.listInventory` does.
   */
  listInventory(request?: ListInventoryRequest, options?: CallOptions): AsyncGenerator<InventoryItem, void, undefined>;
  /**
   * All orders that the request selects, page by page: 1,000 a page, unless `pageSize` says otherwise. The options hold
   * for each page's call. Rejects as `store.listOrders` does.
   */
  listOrders(request?: ListOrdersRequest, options?: CallOptions): AsyncGenerator<Order, void, undefined>;
  /** All holds that the request selects, the newest first, page by page. Rejects as `holds.listHolds` does. */
  listHolds(request?: ListHoldsRequest, options?: CallOptions): AsyncGenerator<Hold, void, undefined>;
  /**
   * All changes of the stock that the request selects, page by page. Rejects as `inventory.listStockChanges` does.
   */
  listStockChanges(
    request?: ListStockChangesRequest,
    options?: CallOptions,
  ): AsyncGenerator<StockChange, void, undefined>;
  /**
   * The changes of the stock that the options select: those after the cursor `after`, by default from the oldest that is
   * kept, and from then on each one as it is made. When the connection is lost or silent, or the service restarts, the
   * watch connects again and goes on from its cursor: it yields every change, in order, and none twice.
   *
   * No outage ends the watch, however long it lasts, not even one before the first connection; `onLost` tells of each
   * failed attempt. A refusal that another attempt would meet again ends it: `CURSOR_EXPIRED`, `PET_NOT_FOUND`,
   * `INVALID_REQUEST`, a key without access. Limits that ask for a longer wait than the retries' `maxDelayMs` end it,
   * too, and so does `TOO_MANY_STREAMS` before the watch has had its first stream. Each connection counts as one
   * request.
   */
  watchStockChanges(options?: StockWatchOptions): StockWatch;
  /**
   * The whole stock as a map that follows the service's: it lists the stock, and watches its changes from there.
   * Resolves when the map is complete, and rejects as `inventory.listInventory` does. Takes one request, one stream,
   * and one further request for each reconnection and each new list. It lists the stock anew after an import, and when
   * its cursor has expired.
   */
  mirrorInventory(options?: InventoryMirrorOptions): Promise<InventoryMirror>;
}

/**
 * Creates a client of the service. It connects with the first call, and holds nothing that has to be closed. Throws a
 * `TypeError` for a bad `baseUrl` or number of `retry`, and a `ConnectError` for an `apiKey` that cannot be one.
 */
export function createPetstoreClient(options: PetstoreClientOptions): PetstoreClient {
  const { apiKey, onLimits, timing = systemTiming } = options;
  const policy = createRetryPolicy(options.retry);
  const baseUrl = parseBaseUrl(options.baseUrl);
  let limits: Limits | undefined;
  const transport = createTransport(options.transport, {
    baseUrl: baseUrl.href,
    // From the outermost to the innermost.
    interceptors: [
      fieldValues,
      idempotencyKeys,
      createRetryInterceptor(policy, timing),
      createLimitsInterceptor((told) => {
        limits = told;
        onLimits?.(told);
      }, timing),
      createKeyInterceptor(apiKey, baseUrl.origin),
      longTimeouts,
      networkErrors,
    ],
  });
  const connectInventory: InventoryClient = createClient(InventoryService, transport);
  const inventory: InventoryClient = {
    ...connectInventory,
    watchStockChanges: (request, call) =>
      readLeavableStream((linked) => connectInventory.watchStockChanges(request, linked), call),
  };
  const store: StoreClient = createClient(StoreService, transport);
  const holds: HoldClient = createClient(HoldService, transport);
  // Watches end their streams themselves.
  const following = { inventory: connectInventory, policy, timing };
  return {
    ...createLists({ inventory, store, holds }),
    inventory,
    holds,
    pets: createClient(PetService, transport),
    store,
    keyLimits: createClient(LimitService, transport),
    get limits() {
      return limits;
    },
    watchStockChanges: (watch = {}) => new ReconnectingWatch(following, watch),
    mirrorInventory: (mirror = {}) => mirrorInventory(following, mirror),
  };
}

type Lists = Pick<PetstoreClient, "listInventory" | "listOrders" | "listHolds" | "listStockChanges">;

/** Creates the lists that follow their pages. */
function createLists({ inventory, store, holds }: Pick<PetstoreClient, "inventory" | "store" | "holds">): Lists {
  return {
    listInventory: (request = {}, call = {}) =>
      followPages(
        request,
        (page) => inventory.listInventory(page, call),
        ({ items }) => items,
      ),
    listOrders: (request = {}, call = {}) =>
      followPages(
        request,
        (page) => store.listOrders(page, call),
        ({ orders }) => orders,
      ),
    listHolds: (request = {}, call = {}) =>
      followPages(
        request,
        (page) => holds.listHolds(page, call),
        (page) => page.holds,
      ),
    listStockChanges: (request = {}, call = {}) =>
      followPages(
        request,
        (page) => inventory.listStockChanges(page, call),
        ({ changes }) => changes,
      ),
  };
}
