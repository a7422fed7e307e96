import {
  createRegistry,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageShape,
} from "@bufbuild/protobuf";
import { file_google_protobuf_timestamp, file_google_protobuf_wrappers } from "@bufbuild/protobuf/wkt";
import { ConnectError, createMethodImplSpec } from "@connectrpc/connect";
import { createGateway, type Gateway, type GatewayOptions } from "../../src/gateway/gateway.ts";
import { type Answer, CallRecord, type Exchange } from "../../src/http/exchange.ts";
import { ProtocolError } from "../../src/http/protocol-error.ts";
import { authorityFault } from "../../src/http/target.ts";
import type { JsonPolicy } from "../../src/proto-json/json-policy.ts";
import type { CallInterceptor } from "../../src/rpc/call.ts";
import { createEndpoint, createNotFoundEndpoint, type Endpoint } from "../../src/rpc/endpoint.ts";
import { file_shapes_v1_shapes } from "./gen/shapes/v1/shapes_pb.ts";

/** Numbers for 64-bit integers, enum names in lower case and without their prefix, defaults written. */
export const policy: JsonPolicy = {
  int64: "number",
  enumName: ({ name }) => name.replace(/^COLOUR_/, "").toLowerCase(),
  implicitFields: "always",
};

export const registry = createRegistry(
  file_shapes_v1_shapes,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
);

export const maxBodyBytes = 1_000_000;

/** A request, by what a test wants to say about it. */
export interface FakeRequest {
  readonly method?: string;
  /** The path, with the query. */
  readonly target?: string;
  readonly header?: Record<string, string>;
  readonly authority?: string | undefined;
  readonly body?: string | Uint8Array;
  /** Aborts when the client goes away. */
  readonly signal?: AbortSignal;
}

/** What came of a request. */
export interface Outcome {
  readonly status: number;
  readonly header: Headers;
  /** The body as text; of a stream that failed, what came before. */
  readonly text: string;
  /** What a stream failed with. */
  readonly failure: unknown;
  readonly trailer: Headers | undefined;
  /** How often the body was read. */
  readonly bodyReads: number;
}

/** Has a gateway answer one request. */
export async function send(gateway: Gateway, request: FakeRequest | string): Promise<Outcome> {
  const given = typeof request === "string" ? parseShorthand(request) : request;
  const reads: number[] = [];
  const exchange = createExchange(given, reads);
  const answer = await gateway(exchange);
  return { ...answer, ...(await readBody(answer)), trailer: answer.trailer, bodyReads: reads.length };
}

/** `METHOD TARGET [BODY]` */
function parseShorthand(text: string): FakeRequest {
  const [method = "", target = "", ...body] = text.split(" ");
  return { method, target, ...(body.length > 0 && { body: body.join(" ") }) };
}

/** Makes an exchange that has no connection. `reads` gets an item each time that the body is read. */
export function createExchange(request: FakeRequest, reads: number[] = []): Exchange {
  const [path = "", ...query] = (request.target ?? "/").split("?");
  const requestHeader = new Headers(request.header);
  /** By lower-case names alone, unlike `Headers`. */
  const lines: ReadonlyMap<string, string> = new Map(requestHeader);
  const body = typeof request.body === "string" ? new TextEncoder().encode(request.body) : request.body;
  const authority = "authority" in request ? request.authority : "shapes.example:8080";
  const fake: Pick<Exchange, keyof Exchange> = {
    method: request.method ?? "GET",
    path,
    query: query.join("?"),
    httpVersion: "1.1",
    scheme: "http",
    authority,
    fault: authorityFault(authority),
    clientAddress: "127.0.0.1",
    requestId: "request-1",
    record: new CallRecord(),
    requestHeader,
    isAbandoned: false,
    signal: request.signal ?? new AbortController().signal,
    header: (name) => lines.get(name),
    headerLines: (name) => (requestHeader.has(name) ? [requestHeader.get(name) ?? ""] : []),
    get incoming(): never {
      throw new Error("the gateway reads whole bodies");
    },
    readBody: async (maxBytes) => {
      if (Math.max(body?.length ?? 0, Number(requestHeader.get("content-length") ?? 0)) > maxBytes) {
        throw new ProtocolError("body_too_large", "too large");
      }
      reads.push(maxBytes);
      return body ?? new Uint8Array();
    },
    addHeader: () => {},
    askForBody: () => {},
    abort: () => {},
    respond: async () => {},
  };
  return fake as Exchange;
}

/** Reads the body of an answer, as text. */
export async function readBody({ body }: Answer): Promise<{ text: string; failure: unknown }> {
  if (typeof body !== "object" || body instanceof Uint8Array) {
    return { text: typeof body === "string" ? body : new TextDecoder().decode(body), failure: undefined };
  }
  let text = "";
  try {
    for await (const chunk of body) {
      text += new TextDecoder().decode(chunk);
    }
  } catch (failure) {
    return { text, failure };
  }
  return { text, failure: undefined };
}

/** What an implementation gives back, beside its message. */
export interface FakeHeaders {
  readonly header?: Record<string, string>;
  /** A trailer may have several values. */
  readonly trailer?: Record<string, string | readonly string[]>;
}

type Unary<I extends DescMessage, O extends DescMessage> = (
  message: MessageShape<I>,
) => MessageShape<O> | Promise<MessageShape<O>>;

/** A unary endpoint with a chain of one interceptor, which sets `x-chain` on answers and on errors. */
export function unary<I extends DescMessage, O extends DescMessage>(
  method: { methodKind: "unary"; input: I; output: O } & Endpoint["method"],
  implement: Unary<I, O>,
  { header = {}, trailer = {} }: FakeHeaders = {},
): Endpoint {
  const spec = createMethodImplSpec<DescMethodUnary>(method, (message, { responseHeader, responseTrailer }) => {
    setAll(responseHeader, header);
    setAll(responseTrailer, trailer);
    return implement(message as MessageShape<I>);
  });
  return createEndpoint(spec, { callInterceptors: [seen], messageInterceptors: [] });
}

/** As `unary`, for a stream, whose answer ends with the trailer `x-end`. It is open once `implement` resolves. */
export function streaming<I extends DescMessage, O extends DescMessage>(
  method: { methodKind: "server_streaming"; input: I; output: O } & Endpoint["method"],
  implement: (message: MessageShape<I>) => Promise<AsyncIterable<MessageShape<O>>>,
): Endpoint {
  const spec = createMethodImplSpec<DescMethodServerStreaming>(method, (message, context) => {
    context.responseTrailer.set("x-end", "seen");
    return implement(message as MessageShape<I>) as never;
  });
  return createEndpoint(spec, { callInterceptors: [seen], messageInterceptors: [] });
}

function setAll(headers: Headers, values: Record<string, string | readonly string[]>): void {
  for (const [name, value] of Object.entries(values)) {
    headers.delete(name);
    for (const each of [value].flat()) {
      headers.append(name, each);
    }
  }
}

/** Refuses callers with the header `x-refused`. */
const seen: CallInterceptor = {
  wrap: (next) => async (call) => {
    call.answerHeader.set("x-chain", "seen");
    if (call.exchange.header("x-refused") !== undefined) {
      throw new ConnectError("refused");
    }
    return await next(call);
  },
};

const statuses: Record<string, number> = {
  malformed: 400,
  unknown_route: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  unsupported_media_type: 415,
};

/** The options that all tests share; errors are answered with their kind and message. */
export const options: Omit<GatewayOptions, "endpoints"> = {
  notFoundEndpoint: createNotFoundEndpoint({ callInterceptors: [seen] }),
  toError: (reason) => ConnectError.from(reason),
  json: policy,
  maxBodyBytes,
  registry,
  errorBody: (error) => {
    // Every ConnectError passes for an instance of any class that extends it.
    const kind = (error as Partial<ProtocolError>).kind ?? "other";
    return { status: statuses[kind] ?? 500, body: { kind, message: error.rawMessage } };
  },
};

/** A gateway of these endpoints. */
export function createTestGateway(endpoints: readonly Endpoint[]): Gateway {
  return createGateway({ ...options, endpoints });
}
