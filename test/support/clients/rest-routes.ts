import { create, type DescEnum, toJson } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { HoldStateSchema } from "../../../gen/petstore/v1/hold_pb.ts";
import { OrderStatusSchema } from "../../../gen/petstore/v1/order_pb.ts";
import { PetStatusSchema } from "../../../gen/petstore/v1/pet_status_pb.ts";
import { rawJson } from "../../../src/exact-json/number.ts";
import type { HttpRequest } from "../http.ts";
import type { Input, Operation } from "../operations.ts";

/** The REST request of each operation, as docs/contract.md#operations has it. */
export const routes: { [O in Operation]: (input: Input<O>) => HttpRequest } = {
  listInventory: ({ status, ...input }) =>
    get("/v1/inventory", { ...input, status: status?.map((value) => enumName(PetStatusSchema, value)) }),
  updateInventory: ({ petId, update, etag }) => ({
    method: "PATCH",
    path: `/v1/inventory/${petId}`,
    headers: ifMatch(etag),
    body: update && toBody(update),
  }),
  getInventory: ({ petId }) => get(`/v1/inventory/${petId}`),
  getAvailability: ({ petId }) => get(`/v1/inventory/${petId}/availability`),
  adjustInventory: ({ petId, adjustment, etag }) => ({
    method: "POST",
    path: `/v1/inventory/${petId}:adjust`,
    headers: ifMatch(etag),
    body: adjustment && toBody(adjustment),
  }),
  batchUpdateInventory: (input) => ({ method: "POST", path: "/v1/inventory:batch", body: toBody(input) }),
  listStockChanges: ({ pet, ...input }) =>
    get(pet === undefined ? "/v1/inventory/changes" : `/v1/inventory/${pet}/changes`, input),
  createHold: ({ ttl, ...input }) => ({
    method: "POST",
    path: "/v1/holds",
    body: toBody({ ...input, ttl: ttl && toJson(DurationSchema, create(DurationSchema, ttl)) }),
  }),
  getHold: ({ holdId }) => get(`/v1/holds/${holdId}`),
  listHolds: ({ state, ...input }) =>
    get("/v1/holds", { ...input, state: state?.map((value) => enumName(HoldStateSchema, value)) }),
  commitHold: ({ holdId, ...input }) => ({ method: "POST", path: `/v1/holds/${holdId}:commit`, body: toBody(input) }),
  releaseHold: ({ holdId, ...input }) => ({ method: "POST", path: `/v1/holds/${holdId}:release`, body: toBody(input) }),
  getPet: ({ petId }) => get(`/v1/pets/${petId}`),
  getLimits: () => get("/v1/limits"),
  listOrders: ({ status, ...input }) =>
    get("/v1/store/orders", { ...input, status: status?.map((value) => enumName(OrderStatusSchema, value)) }),
};

function get(path: string, parameters: object = {}): HttpRequest {
  const query = new URLSearchParams(
    Object.entries(parameters)
      .filter(([name]) => !name.startsWith("$"))
      .flatMap(([name, value]) => [value ?? []].flat().map((each) => [name, String(each)])),
  );
  return { method: "GET", path: query.size === 0 ? path : `${path}?${query.toString()}` };
}

/** JSON in which 64-bit integers are numbers. */
function toBody(input: object): string {
  return JSON.stringify(input, (name, value) =>
    name.startsWith("$") ? undefined : typeof value === "bigint" ? rawJson(String(value)) : value,
  );
}

function ifMatch(etag: string | undefined): Record<string, string> {
  return etag === undefined ? {} : { "if-match": etag };
}

/** The name of an enum's value in REST's JSON; a number that has none stands for itself. */
function enumName(schema: DescEnum, number: number): string {
  const name = schema.value[number]?.name ?? String(number);
  return name.replace(/^(PET_STATUS|ORDER_STATUS|HOLD_STATE)_/, "").toLowerCase();
}
