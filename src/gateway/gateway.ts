import type { Registry } from "@bufbuild/protobuf";
import type { Answer, Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import type { JsonPolicy } from "../proto-json/json-policy.ts";
import { JsonReaders } from "../proto-json/json-reader.ts";
import { JsonWriters } from "../proto-json/json-writer.ts";
import { answerCall, type ProtocolCall } from "../rpc/call.ts";
import { type Endpoint, readNotFound, rpcName, type UnaryEndpoint } from "../rpc/endpoint.ts";
import { type Binding, type Compilers, createBinding, type MethodOptions } from "./binding.ts";
import { type ErrorBody, errorAnswer, RestCall, type RestOptions } from "./rest-call.ts";
import { httpRules, RouteError } from "./routes/http-rule.ts";
import { type RouteMatch, RouteTrie } from "./routes/route-trie.ts";
import { QueryFieldSets } from "./url.ts";

/** What a gateway serves, and how. */
export interface GatewayOptions extends RestOptions, Partial<MethodOptions> {
  /** Unary and server-streaming RPCs. Those without a `google.api.http` option are ignored. */
  readonly endpoints: readonly Endpoint[];
  /** Answers OPTIONS, and refuses requests that match no route. */
  readonly notFoundEndpoint: UnaryEndpoint;
  readonly json: JsonPolicy;
  /** Where the types in an `Any` are looked up; without it there are none. */
  readonly registry?: Registry;
}

/** By default no header carries a field, no stream has events, every success is 200, and nothing has a location. */
const defaults: MethodOptions = {
  headerOf: () => undefined,
  eventsOf: () => undefined,
  successStatus: () => 200,
  locationOf: () => undefined,
};

/** Makes the answer to a request. */
export type Gateway = (exchange: Exchange) => Promise<Answer>;

/**
 * Serves RPCs as REST, by their `google.api.http` options. Routes, readers and writers are compiled once, here.
 * Throws `RouteError` for a rule that cannot be served, or that another rule makes ambiguous.
 *
 * Source: https://github.com/googleapis/googleapis/blob/master/google/api/http.proto
 */
export function createGateway(options: GatewayOptions): Gateway {
  const routes = createRoutes(options);
  const { notFoundEndpoint, toError, errorBody } = options;
  return (exchange) => {
    const match = routes.match(exchange.method, exchange.path);
    const { route: binding, segments } = match;
    if (binding === undefined || (exchange.method === "HEAD" && binding.formats !== undefined)) {
      const allow = allowOf(binding === undefined ? match : routes.match(noMethod, exchange.path));
      const refusal = createRefusal(exchange, allow);
      return answerCall(notFoundEndpoint, notFoundCall(exchange, { refusal, allow }, errorBody), toError);
    }
    const call = new RestCall(exchange, binding, segments, options);
    return answerCall(binding.endpoint, call, toError);
  };
}

function createRoutes(options: GatewayOptions): RouteTrie<Binding> {
  const { endpoints, json, registry } = options;
  const compilers: Compilers = {
    ...defaults,
    ...options,
    policy: json,
    readers: new JsonReaders(json, registry),
    writers: new JsonWriters(json, registry),
    queries: new QueryFieldSets(json),
  };
  const routes = new RouteTrie<Binding>();
  for (const endpoint of endpoints) {
    for (const rule of httpRules(endpoint.method)) {
      addRoute(routes, createBinding(endpoint, rule, compilers));
    }
  }
  return routes;
}

function addRoute(routes: RouteTrie<Binding>, binding: Binding): void {
  const { rule, template } = binding;
  const present = routes.add(rule.httpMethod, template, binding);
  if (present !== undefined) {
    const other = `${rpcName(present.rule.method)} with "${present.rule.template}"`;
    throw new RouteError(rule, `${rule.httpMethod} of the same paths leads to ${other} already`);
  }
}

/**
 * The refusal of a request that matches no route; undefined for OPTIONS on a known path. `allow` is empty for an
 * unknown path.
 */
function createRefusal(exchange: Exchange, allow: string): ProtocolError | undefined {
  if (allow === "") {
    return new ProtocolError("unknown_route", "There is nothing at this path. See the API's reference for the paths.");
  }
  return exchange.method === "OPTIONS"
    ? undefined
    : new ProtocolError("method_not_allowed", `Use one of these methods here: ${allow}.`, { Allow: allow });
}

/** A method that no route has. A match with it returns the methods that the path has. */
const noMethod = "";

/** The value of `Allow` for a path; empty where it has no routes. A stream has no HEAD. Source: RFC 9110, 10.2.1. */
function allowOf({ route, methods }: RouteMatch<Binding>): string {
  if (route !== undefined || methods === undefined) {
    return "";
  }
  const names = new Set(methods.keys());
  if (methods.has("GET") && methods.get("GET")?.formats === undefined) {
    names.add("HEAD");
  }
  return [...names].sort().concat("OPTIONS").join(", ");
}

/** The call for a REST request that matches no route. `refusal` is undefined for OPTIONS on a known path. */
function notFoundCall(
  exchange: Exchange,
  { refusal, allow }: { readonly refusal: Error | undefined; readonly allow: string },
  errorBody: ErrorBody,
): ProtocolCall {
  return {
    exchange,
    protocolName: "rest",
    timeoutMs: undefined,
    read: () => readNotFound(refusal ?? exchange.fault),
    async answer(_response, header) {
      // Only OPTIONS gets an answer. Source: RFC 9110, 9.3.7; RFC 5789, 3.1.
      header.set("allow", allow);
      if (allow.includes("PATCH")) {
        header.set("accept-patch", "application/json");
      }
      return { status: 204, header };
    },
    fail: async (error, header) => errorAnswer(error, header, errorBody),
  };
}
