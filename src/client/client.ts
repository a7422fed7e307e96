import type { MessageInitShape } from "@bufbuild/protobuf";
import { type CallOptions, type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import type { InventoryItem } from "../../gen/petstore/v1/inventory_pb.ts";
import { InventoryService, type ListInventoryRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { LimitService } from "../../gen/petstore/v1/limit_service_pb.ts";
import type { Order } from "../../gen/petstore/v1/order_pb.ts";
import { PetService } from "../../gen/petstore/v1/pet_service_pb.ts";
import { type ListOrdersRequestSchema, StoreService } from "../../gen/petstore/v1/store_service_pb.ts";
import { parseBaseUrl } from "./base-url.ts";
import { type ApiKey, createKeyInterceptor } from "./key.ts";
import type { Limits } from "./limits.ts";
import { createLimitsInterceptor } from "./limits-interceptor.ts";
import { followPages } from "./pages.ts";
import { createRetryInterceptor } from "./retry.ts";
import type { RetryPolicy } from "./retry-policy.ts";
import { systemTiming, type Timing } from "./timing.ts";

/** What a client is made of. */
export interface PetstoreClientOptions {
  /** The address of the service, such as `https://petstore.example/v1`; its `/v1` may be left out. */
  readonly baseUrl: string;
  /** Sent to the origin of `baseUrl`, and to no other. */
  readonly apiKey: ApiKey;
  /**
   * Makes the transport, and with it chooses the protocol: `createGrpcTransport` of `@connectrpc/connect-node`, say, or
   * `createConnectTransport` of `@connectrpc/connect-web` in a browser. What it is given must reach the transport;
   * interceptors of one's own can stand beside those.
   */
  readonly transport: (options: TransportOptions) => Transport;
  /** What differs from `defaultRetryPolicy`. */
  readonly retry?: Partial<RetryPolicy>;
  /** Called with the limits that each answer tells of. */
  readonly onLimits?: (limits: Limits) => void;
  /** The system's by default. */
  readonly timing?: Timing;
}

/** What every transport of Connect takes. */
export interface TransportOptions {
  baseUrl: string;
  interceptors: Interceptor[];
}

/** The services, and what they have in common. All calls fail with a `ConnectError`; `reasonOf` tells why. */
export interface PetstoreClient {
  readonly inventory: Client<typeof InventoryService>;
  readonly pets: Client<typeof PetService>;
  readonly store: Client<typeof StoreService>;
  /** What a key has left, asked for free of charge. */
  readonly keyLimits: Client<typeof LimitService>;
  /** The limits that the last answer told of; undefined before the first. */
  readonly limits: Limits | undefined;
  /** All stock entries that the request selects, page by page. The options hold for each page's call. */
  listInventory(
    request?: MessageInitShape<typeof ListInventoryRequestSchema>,
    options?: CallOptions,
  ): AsyncGenerator<InventoryItem, void, undefined>;
  /** All orders that the request selects, page by page. The options hold for each page's call. */
  listOrders(
    request?: MessageInitShape<typeof ListOrdersRequestSchema>,
    options?: CallOptions,
  ): AsyncGenerator<Order, void, undefined>;
}

/**
 * A client of the service over any of Connect's transports. Throws a `TypeError` for a bad address, and a
 * `ConnectError` for what cannot be a key.
 */
export function createPetstoreClient(options: PetstoreClientOptions): PetstoreClient {
  const { apiKey, retry, onLimits, timing = systemTiming } = options;
  const baseUrl = parseBaseUrl(options.baseUrl);
  let limits: Limits | undefined;
  const transport = options.transport({
    baseUrl: baseUrl.href,
    // From the outermost to the innermost.
    interceptors: [
      createRetryInterceptor(retry, timing),
      createLimitsInterceptor((told) => {
        limits = told;
        onLimits?.(told);
      }, timing),
      createKeyInterceptor(apiKey, baseUrl.origin),
    ],
  });
  const inventory = createClient(InventoryService, transport);
  const store = createClient(StoreService, transport);
  return {
    inventory,
    pets: createClient(PetService, transport),
    store,
    keyLimits: createClient(LimitService, transport),
    get limits() {
      return limits;
    },
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
  };
}
