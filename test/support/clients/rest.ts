import { type DescEnum, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { OrderStatusSchema } from "../../../gen/petstore/v1/order_pb.ts";
import { PetStatusSchema } from "../../../gen/petstore/v1/pet_status_pb.ts";
import type { HttpAnswer, HttpClient, HttpRequest } from "../http.ts";
import { type Input, type Operation, operations } from "../operations.ts";
import { type ApiClient, type CallOptions, type Outcome, requestHeaders } from "./client.ts";

/** A client of the documented paths, over any version of HTTP. */
export function createRestClient(http: HttpClient): ApiClient {
  return {
    close: () => http.close(),
    call: async (operation, input, options = {}) => {
      const answer = await http.send(toRequest(operation, input, options));
      return toOutcome(operation, answer);
    },
  };
}

function toRequest<O extends Operation>(operation: O, input: Input<O>, options: CallOptions): HttpRequest {
  const { body, ...request } = routes[operation](input);
  const contentType = body === undefined ? {} : { "content-type": "application/json" };
  return { ...request, body, headers: { ...contentType, ...requestHeaders(options) } };
}

/** The REST request of each operation, as docs/contract.md#operations has it. */
const routes: { [O in Operation]: (input: Input<O>) => HttpRequest } = {
  listInventory: (input) => ({ method: "GET", path: `/v1/inventory${listQuery(input, PetStatusSchema)}` }),
  updateInventory: ({ petId, update }) => ({
    method: "PATCH",
    path: `/v1/inventory/${petId}`,
    body: update && (update.quantity === undefined ? "{}" : `{"quantity":${update.quantity}}`),
  }),
  getPet: ({ petId }) => ({ method: "GET", path: `/v1/pets/${petId}` }),
  getLimits: () => ({ method: "GET", path: "/v1/limits" }),
  listOrders: (input) => ({ method: "GET", path: `/v1/store/orders${listQuery(input, OrderStatusSchema)}` }),
};

interface ListInput {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
  readonly status?: readonly number[] | undefined;
}

function listQuery({ pageSize, pageToken, status = [] }: ListInput, statuses: DescEnum): string {
  const query = new URLSearchParams(status.map((value) => ["status", statusName(statuses, value)]));
  if (pageSize !== undefined) {
    query.append("pageSize", String(pageSize));
  }
  if (pageToken !== undefined) {
    query.append("pageToken", pageToken);
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

/** The name of a status in REST's JSON; a number that has none stands for itself. */
function statusName(statuses: DescEnum, number: number): string {
  const name = statuses.value[number]?.name ?? String(number);
  return name.replace(/^(PET|ORDER)_STATUS_/, "").toLowerCase();
}

function toOutcome<O extends Operation>(operation: O, { status, headers, text }: HttpAnswer): Outcome<O> {
  if (status === 200) {
    const message = fromJson(operations[operation].output, toProtoJson(operation, text, headers));
    return { message, headers } as Outcome<O>;
  }
  const body = JSON.parse(text);
  return { failure: { code: body.code, message: body.message, http: status, body }, headers };
}

/** ProtoJSON of an operation's output, from the REST body and the `Link` header. */
function toProtoJson(operation: Operation, text: string, headers: Headers): JsonValue {
  const prefixes: Record<string, string> = {
    status: operation === "listOrders" ? "ORDER_STATUS_" : "PET_STATUS_",
    plan: "PLAN_",
  };
  const body = JSON.parse(text, ((key: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number"
      ? source
      : key in prefixes
        ? `${prefixes[key]}${String(value).toUpperCase()}`
        : value) as never);
  switch (operation) {
    case "listInventory":
      return { items: body, nextPageToken: nextPageToken(headers) };
    case "listOrders":
      return { orders: body, nextPageToken: nextPageToken(headers) };
    case "updateInventory":
      return { item: body };
    case "getPet":
      return { pet: body };
    case "getLimits":
      return { limits: body };
  }
}

/** The address of the next page, from `Link`; undefined on the last one. */
export function nextLink(headers: Headers): URL | undefined {
  const target = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get("link") ?? "")?.[1];
  return target === undefined ? undefined : new URL(target);
}

function nextPageToken(headers: Headers): string {
  return nextLink(headers)?.searchParams.get("pageToken") ?? "";
}
