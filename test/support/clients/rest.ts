import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import type { HttpAnswer, HttpClient, HttpRequest } from "../http.ts";
import { type Input, type Operation, operations } from "../operations.ts";
import { type ApiClient, type CallOptions, type Outcome, requestHeaders } from "./client.ts";
import { routes } from "./rest-routes.ts";

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
  const { body, headers, ...request } = routes[operation](input);
  const contentType = body === undefined ? {} : { "content-type": "application/json" };
  return { ...request, body, headers: { ...contentType, ...headers, ...requestHeaders(options) } };
}

function toOutcome<O extends Operation>(operation: O, { status, headers, text }: HttpAnswer): Outcome<O> {
  if (status === (operation === "createHold" ? 201 : 200)) {
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
    state: "HOLD_STATE_",
    kind: "STOCK_CHANGE_KIND_",
  };
  const body = JSON.parse(text, ((key: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number"
      ? source
      : key in prefixes
        ? `${prefixes[key]}${String(value).toUpperCase()}`
        : value) as never);
  switch (operation) {
    case "listInventory":
      return { items: body, nextPageToken: nextPageToken(headers), cursor: headers.get("x-inventory-cursor") ?? "" };
    case "listOrders":
      return { orders: body, nextPageToken: nextPageToken(headers) };
    case "listHolds":
      return { holds: body, nextPageToken: nextPageToken(headers) };
    case "listStockChanges":
      return { changes: body, nextPageToken: nextPageToken(headers) };
    case "batchUpdateInventory":
      return { results: body };
    case "updateInventory":
    case "getInventory":
    case "adjustInventory":
      return { item: body, etag: headers.get("etag") ?? "" };
    case "getAvailability":
      return { availability: body };
    case "createHold":
    case "getHold":
    case "commitHold":
    case "releaseHold":
      return { hold: body };
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
