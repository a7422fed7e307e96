import type { Registry } from "@bufbuild/protobuf";
import type { ConnectError, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import type { Endpoint, UnaryEndpoint } from "../rpc/endpoint.ts";
import { withMetadata } from "../rpc/metadata.ts";
import { rpcName } from "../rpc/rpc-name.ts";
import { callUnrouted } from "../rpc/unrouted.ts";
import { type ErrorBody, errorAnswer, optionsAnswer, streamAnswer, unaryAnswer } from "./answer.ts";
import { type Binding, type Compilers, createBinding } from "./binding.ts";
import { httpRules } from "./http-rule.ts";
import type { JsonPolicy } from "./json-policy.ts";
import { JsonReaders } from "./json-reader.ts";
import { JsonWriters } from "./json-writer.ts";
import { QueryFieldSets } from "./query-fields.ts";
import { readRequest } from "./request.ts";
import { RouteError } from "./route-error.ts";
import { RouteTrie } from "./route-trie.ts";

/** What a gateway serves, and how. */
export interface GatewayOptions {
  /** Unary and server-streaming RPCs. Those without a `google.api.http` option are passed over. */
  readonly endpoints: readonly Endpoint[];
  /**
   * Ends the requests that no route takes, through the same interceptors. Its `read` throws `unknown_route` or
   * `method_not_allowed`; for OPTIONS on a known path it gives an empty message, and the call is to succeed.
   */
  readonly unrouted: UnaryEndpoint;
  readonly json: JsonPolicy;
  /** Makes an error that clients may see of whatever was thrown, what the interceptors let through included. */
  readonly toError: (reason: unknown, exchange: Exchange) => ConnectError;
  readonly errorBody: ErrorBody;
  readonly maxBodyBytes: number;
  /** Where the types in an `Any` are looked up; without it there are none. */
  readonly registry?: Registry;
}

/** Answers every exchange that it is given. */
export type Gateway = (exchange: Exchange) => Promise<void>;

/**
 * Serves RPCs as REST, by their `google.api.http` options. Routes, readers and writers are compiled here, once.
 * Throws `RouteError` for a rule that cannot be served, or that another rule makes ambiguous.
 *
 * Source: https://github.com/googleapis/googleapis/blob/master/google/api/http.proto
 */
export function createGateway(options: GatewayOptions): Gateway {
  const routes = createRoutes(options);
  return async (exchange) => exchange.respond(await answer(exchange, routes, options));
}

function createRoutes({ endpoints, json, registry }: GatewayOptions): RouteTrie<Binding> {
  const compilers: Compilers = {
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

async function answer(exchange: Exchange, routes: RouteTrie<Binding>, options: GatewayOptions): Promise<Answer> {
  const match = routes.match(exchange.method, exchange.path);
  try {
    if (match.route === undefined) {
      return await answerUnrouted(exchange, match.methods, options.unrouted);
    }
    const response = await callRouted(exchange, match.route, match.segments, options);
    return writeAnswer(exchange, match.route, response, options);
  } catch (error) {
    return errorAnswer(options.toError(error, exchange), options.errorBody);
  }
}

function callRouted(
  exchange: Exchange,
  binding: Binding,
  segments: readonly string[],
  { maxBodyBytes }: GatewayOptions,
): Promise<UnaryResponse | StreamResponse> {
  const request = { exchange, binding, segments, maxBodyBytes };
  return binding.endpoint.call({ exchange, protocolName, read: (deadline) => readRequest(request, deadline) });
}

/** Throws an error with the headers that the call has given its answer. */
function writeAnswer(
  exchange: Exchange,
  binding: Binding,
  response: UnaryResponse | StreamResponse,
  options: GatewayOptions,
): Answer {
  try {
    return response.stream
      ? streamAnswer(exchange, binding, response, options)
      : unaryAnswer(exchange, binding, response);
  } catch (reason) {
    throw withMetadata(options.toError(reason, exchange), response.header);
  }
}

const protocolName = "rest";

async function answerUnrouted(
  exchange: Exchange,
  methods: ReadonlySet<string>,
  unrouted: UnaryEndpoint,
): Promise<Answer> {
  const allow = allowed(methods);
  const refusal = createRefusal(exchange, methods, allow);
  return optionsAnswer(await callUnrouted(unrouted, { exchange, protocolName, refusal }), allow);
}

/** Undefined for OPTIONS on a known path. */
function createRefusal(exchange: Exchange, methods: ReadonlySet<string>, allow: string): ProtocolError | undefined {
  if (methods.size === 0) {
    return new ProtocolError("unknown_route", "There is nothing at this path. See the API's reference for the paths.");
  }
  return exchange.method === "OPTIONS"
    ? undefined
    : new ProtocolError("method_not_allowed", `Use one of these methods here: ${allow}.`, { Allow: allow });
}

/** Source: RFC 9110, 10.2.1. */
function allowed(methods: ReadonlySet<string>): string {
  const names = new Set(methods);
  if (names.has("GET")) {
    names.add("HEAD");
  }
  return [...names].sort().concat("OPTIONS").join(", ");
}
