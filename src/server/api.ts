import { createRegistry, type DescEnumValue, type DescService } from "@bufbuild/protobuf";
import { createServiceImplSpec, type Interceptor, type MethodImplSpec, type ServiceImpl } from "@connectrpc/connect";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { PetService } from "../../gen/petstore/v1/pet_service_pb.ts";
import { StoreService } from "../../gen/petstore/v1/store_service_pb.ts";
import type { Store } from "../domain/store.ts";
import { createGateway, type Gateway } from "../gateway/gateway.ts";
import { authInterceptor } from "../interceptors/auth.ts";
import { deprecationInterceptor, sunsetInterceptor } from "../interceptors/deprecation.ts";
import { errorsInterceptor, errorToRest } from "../interceptors/errors.ts";
import { limitsInterceptor, type Meter } from "../interceptors/limits.ts";
import { scopesInterceptor } from "../interceptors/scopes.ts";
import { validationInterceptor } from "../interceptors/validation.ts";
import { createEndpoint, type EndpointOptions } from "../rpc/create-endpoint.ts";
import type { UnaryEndpoint } from "../rpc/endpoint.ts";
import { createRpcHandler, type RpcHandler } from "../rpc/rpc-handler.ts";
import { createUnroutedEndpoint } from "../rpc/unrouted.ts";
import { inventoryService } from "../services/inventory.ts";
import { storeService } from "../services/orders.ts";
import { petService } from "../services/pets.ts";
import type { Logger } from "./logger.ts";

/** The size of the largest message of an RPC, in bytes. Source: the contract, RPCs. */
const rpcMaxBytes = 4 * 1024 * 1024;

/** The services of the API. */
export const apiServices = [InventoryService, PetService, StoreService] as const;

/** What the API stands on. */
export interface ApiOptions {
  readonly store: Store;
  readonly meter: Meter;
  readonly clock: () => number;
  readonly logger: Logger;
  readonly maxBodyBytes: number;
  readonly enforceSunset: boolean;
}

/** The API's services as REST and as RPCs: the same endpoints, behind the same interceptors. */
export interface Api {
  readonly rest: Gateway;
  readonly rpc: RpcHandler;
}

export function createApi({ store, meter, clock, logger, maxBodyBytes, enforceSunset }: ApiOptions): Api {
  const callInterceptors: Interceptor[] = [
    errorsInterceptor((code, cause) => logger.error({ err: cause, code }, "a call failed")),
    deprecationInterceptor,
    authInterceptor(store, clock),
    limitsInterceptor(meter),
    scopesInterceptor,
  ];
  const messageInterceptors = [validationInterceptor(), ...(enforceSunset ? [sunsetInterceptor(clock)] : [])];

  const options: EndpointOptions = { callInterceptors, messageInterceptors };
  const specs = [
    ...implement(InventoryService, inventoryService(store)),
    ...implement(PetService, petService(store)),
    ...implement(StoreService, storeService(store)),
  ];
  const endpoints = specs.map((spec) => createEndpoint(spec, options) as UnaryEndpoint);
  const unrouted = createUnroutedEndpoint(options);

  const json = { int64: "number", enumName: shortEnumName, implicitFields: "always" } as const;
  const registry = createRegistry(...apiServices);
  return {
    rest: createGateway({ endpoints, unrouted, json, errorBody: errorToRest, maxBodyBytes, registry }),
    rpc: createRpcHandler({ endpoints, unrouted, readMaxBytes: rpcMaxBytes }),
  };
}

function implement<S extends DescService>(service: S, implementation: ServiceImpl<S>): MethodImplSpec[] {
  return Object.values(createServiceImplSpec(service, implementation as Partial<ServiceImpl<DescService>>).methods);
}

/** The name of an enum value in REST: without the enum's name before it, and in lower case. */
function shortEnumName({ localName }: DescEnumValue): string {
  return localName.toLowerCase();
}
