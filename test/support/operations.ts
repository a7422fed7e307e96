import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { HoldService } from "../../gen/petstore/v1/hold_service_pb.ts";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { LimitService } from "../../gen/petstore/v1/limit_service_pb.ts";
import { PetService } from "../../gen/petstore/v1/pet_service_pb.ts";
import { StoreService } from "../../gen/petstore/v1/store_service_pb.ts";
import { beyondDouble, fixtureHolds } from "./fixture.ts";

/** The operations of the API. Source: docs/contract.md#operations */
export const operations = {
  listInventory: InventoryService.method.listInventory,
  updateInventory: InventoryService.method.updateInventory,
  getInventory: InventoryService.method.getInventory,
  getAvailability: InventoryService.method.getAvailability,
  adjustInventory: InventoryService.method.adjustInventory,
  batchUpdateInventory: InventoryService.method.batchUpdateInventory,
  listStockChanges: InventoryService.method.listStockChanges,
  createHold: HoldService.method.createHold,
  getHold: HoldService.method.getHold,
  listHolds: HoldService.method.listHolds,
  commitHold: HoldService.method.commitHold,
  releaseHold: HoldService.method.releaseHold,
  getPet: PetService.method.getPet,
  listOrders: StoreService.method.listOrders,
  getLimits: LimitService.method.getLimits,
} as const;

export type Operation = keyof typeof operations;
export type Input<O extends Operation> = MessageInitShape<(typeof operations)[O]["input"]>;
export type Output<O extends Operation> = MessageShape<(typeof operations)[O]["output"]>;

/** An operation with an input that succeeds on the fixture, and the scope that it needs, if any. */
export interface Sample<O extends Operation = Operation> {
  readonly operation: O;
  readonly input: Input<O>;
  readonly scope: string | undefined;
}

/** One working call of each operation. */
export const samples: readonly Sample[] = [
  { operation: "listInventory", input: {}, scope: "inventory:read" },
  { operation: "updateInventory", input: { petId: 1n, update: { quantity: 5n } }, scope: "inventory:write" },
  { operation: "getInventory", input: { petId: 7n }, scope: "inventory:read" },
  { operation: "getAvailability", input: { petId: 7n }, scope: "inventory:read" },
  { operation: "adjustInventory", input: { petId: 1n, adjustment: { delta: 1n } }, scope: "inventory:write" },
  {
    operation: "batchUpdateInventory",
    input: { changes: [{ petId: 1n, quantity: 5n }], atomic: true },
    scope: "inventory:write",
  },
  { operation: "listStockChanges", input: {}, scope: "inventory:read" },
  { operation: "createHold", input: { petId: beyondDouble, quantity: 1n }, scope: "inventory:write" },
  { operation: "getHold", input: { holdId: fixtureHolds.held }, scope: "inventory:read" },
  { operation: "listHolds", input: {}, scope: "inventory:read" },
  { operation: "commitHold", input: { holdId: fixtureHolds.held }, scope: "inventory:write" },
  { operation: "releaseHold", input: { holdId: fixtureHolds.released }, scope: "inventory:write" },
  { operation: "getPet", input: { petId: 7n }, scope: "pets:read" },
  { operation: "listOrders", input: {}, scope: "orders:read" },
  { operation: "getLimits", input: {}, scope: undefined },
];

/** The path of an operation's RPC. */
export function rpcPath(operation: Operation): string {
  const method = operations[operation];
  return `/${method.parent.typeName}/${method.name}`;
}
