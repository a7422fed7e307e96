import type { Readable } from "node:stream";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Metadata, type ServiceError, type StatusObject, status } from "@grpc/grpc-js";
import { InventoryService, type WatchStockChangesResponse } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { StockChangeKindSchema } from "../../gen/petstore/v1/stock_change_pb.ts";
import type { Failure, Target } from "./clients/client.ts";
import { failureFromConnectError } from "./clients/failure.ts";
import { codec, openChannel, toFailure, toHeaders } from "./clients/grpc.ts";
import { type HttpVersion, type StreamedAnswer, sendStreamed } from "./streamed.ts";

const method = InventoryService.method.watchStockChanges;

/** What a watcher asks for. */
export type WatchRequest = MessageInitShape<typeof method.input>;

/** A change as all protocols tell it; without a revision, a heartbeat. */
export interface Told {
  readonly cursor: string;
  readonly revision?: bigint;
  readonly petId?: bigint;
  readonly before?: bigint | undefined;
  readonly after?: bigint;
  /** In lower case. */
  readonly kind?: string | undefined;
}

/** An open stream. */
export interface Watch {
  /** What has been told so far, heartbeats included. */
  readonly told: readonly Told[];
  /** Resolves when the headers have come. */
  readonly headers: Promise<Headers>;
  /** The metadata of the failure over RPC, which may come after the headers; empty until the stream has ended. */
  readonly metadata: Headers;
  /** Resolves when the stream ends: to its failure, or to undefined when it ends well or is stopped. */
  readonly ended: Promise<Failure | undefined>;
  /** Stops and goes on reading. */
  pause(): void;
  resume(): void;
  stop(): void;
}

/** A way to watch, as `describe.each` takes it. */
export interface WatchProtocol {
  readonly name: string;
  open(target: Target, request: WatchRequest, headers: Readonly<Record<string, string>>): Watch;
}

/** A watch has a connection of its own, which ends after it. */
const leaving = { idleConnectionTimeoutMs: 500 };

/** Every way to watch. */
export const watchProtocols: readonly WatchProtocol[] = [
  { name: "REST events, HTTP/1.1", open: (...call) => overRest("text/event-stream", "HTTP/1.1", ...call) },
  { name: "REST events, HTTP/2", open: (...call) => overRest("text/event-stream", "HTTP/2", ...call) },
  { name: "REST lines, HTTP/1.1", open: (...call) => overRest("application/x-ndjson", "HTTP/1.1", ...call) },
  { name: "REST lines, HTTP/2", open: (...call) => overRest("application/x-ndjson", "HTTP/2", ...call) },
  { name: "gRPC", open: overGrpc },
  rpc("gRPC by Connect", (options) => createGrpcTransport({ ...options, ...leaving })),
  rpc("gRPC-Web, HTTP/1.1", (options) => createGrpcWebTransport({ ...options, httpVersion: "1.1" })),
  rpc("gRPC-Web, HTTP/2", (options) => createGrpcWebTransport({ ...options, ...leaving, httpVersion: "2" })),
  rpc("Connect JSON, HTTP/1.1", (options) => createConnectTransport({ ...options, httpVersion: "1.1" })),
  rpc("Connect binary, HTTP/2", (options) =>
    createConnectTransport({ ...options, ...leaving, httpVersion: "2", useBinaryFormat: true }),
  ),
];

/** The path and query of a watch over REST. */
export function watchPath({ after, petId = [], crossing }: WatchRequest): string {
  const query = new URLSearchParams(petId.map((id) => ["petId", String(id)]));
  if (after !== undefined) {
    query.set("after", after);
  }
  if (crossing !== undefined) {
    query.set("crossing", String(crossing));
  }
  return `/v1/inventory/changes:watch${query.size === 0 ? "" : `?${query.toString()}`}`;
}

/** A stream that is read into a list. */
class Reading implements Watch {
  readonly told: Told[] = [];
  metadata = new Headers();
  readonly #headers = Promise.withResolvers<Headers>();
  readonly #ended = Promise.withResolvers<Failure | undefined>();
  readonly stop: () => void;
  #source: Pick<Readable, "pause" | "resume"> | undefined;

  constructor(stop: () => void) {
    this.stop = () => {
      stop();
      this.end(undefined);
    };
  }

  get headers(): Promise<Headers> {
    return this.#headers.promise;
  }

  get ended(): Promise<Failure | undefined> {
    return this.#ended.promise;
  }

  begin(headers: Headers, source?: Pick<Readable, "pause" | "resume">): void {
    this.#source = source;
    this.#headers.resolve(headers);
  }

  end(failure: Failure | undefined, metadata = new Headers()): void {
    this.metadata = metadata;
    this.#headers.resolve(metadata);
    this.#ended.resolve(failure);
  }

  pause(): void {
    this.#source?.pause();
  }

  resume(): void {
    this.#source?.resume();
  }
}

function overRest(
  accept: string,
  version: HttpVersion,
  target: Target,
  request: WatchRequest,
  headers: Readonly<Record<string, string>>,
): Watch {
  const { answer, close } = sendStreamed(version, target, {
    path: watchPath(request),
    headers: { accept, ...headers },
  });
  const reading = new Reading(close);
  const broken = () => reading.end({ code: undefined, message: "the connection broke" });
  answer.then((streamed) => readRest(reading, streamed, accept, broken), broken);
  return reading;
}

function readRest(
  reading: Reading,
  { status, headers, body }: StreamedAnswer,
  accept: string,
  broken: () => void,
): void {
  const read = accept === "text/event-stream" ? readEvent : readLine;
  const separator = accept === "text/event-stream" ? "\n\n" : "\n";
  let rest = "";
  let failure: Failure | undefined;
  reading.begin(headers, body);
  body.setEncoding("utf8");
  body.on("data", (text: string) => {
    const parts = `${rest}${text}`.split(separator);
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const item = read(part);
      if ("code" in item) {
        failure = item;
      } else {
        reading.told.push(item);
      }
    }
  });
  body.on("end", () => reading.end(status === 200 ? failure : refusal(status, rest)));
  body.on("error", broken);
}

/** A stream that is stopped may end before its body has come. */
function refusal(http: number, text: string): Failure {
  const body = JSON.parse(text || "{}");
  return { code: body.code, message: body.message, http, body };
}

function readEvent(block: string): Told | Failure {
  const fields = block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]);
  const event = new Map(fields as [string, string][]);
  const data = event.get("data");
  switch (event.get("event")) {
    case "stock-change":
      return { ...changeOf(data ?? ""), cursor: event.get("id") ?? "" };
    case "error": {
      const body = JSON.parse(data ?? "");
      return { code: body.code, message: event.get("retry") ?? "", http: body.status, body };
    }
    default:
      return { cursor: event.get("id") ?? "" };
  }
}

function readLine(line: string): Told | Failure {
  if (line === "") {
    return { cursor: "" };
  }
  if (line.startsWith('{"error":')) {
    const { error } = JSON.parse(line);
    return { code: error.code, message: error.message, http: error.status, body: error };
  }
  return changeOf(line);
}

function changeOf(json: string): Told {
  const exact = (_name: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number" ? BigInt(source) : value;
  const { cursor, revision, petId, before, after, kind } = JSON.parse(json, exact as never);
  return { cursor, revision, petId, before, after, kind };
}

function toTold({ change, cursor }: WatchStockChangesResponse): Told {
  if (change === undefined) {
    return { cursor };
  }
  const { revision, petId, before, after, kind } = change;
  return {
    cursor,
    revision,
    petId,
    before,
    after,
    kind: StockChangeKindSchema.value[kind]?.localName.toLowerCase(),
  };
}

function overGrpc(target: Target, request: WatchRequest, headers: Readonly<Record<string, string>>): Watch {
  const channel = openChannel(target);
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    metadata.set(name, value);
  }
  const call = channel.makeServerStreamRequest(
    `/${method.parent.typeName}/${method.name}`,
    codec(method.input).write,
    codec(method.output).read,
    create(method.input, request) as never,
    metadata,
  );
  const reading = new Reading(() => {
    call.cancel();
    channel.close();
  });
  call.on("metadata", (answered: Metadata) => reading.begin(toHeaders(answered), call));
  call.on("data", (message: WatchStockChangesResponse) => reading.told.push(toTold(message)));
  // The data may have ended before the status has come.
  call.on("status", ({ code }: StatusObject) => {
    if (code === status.OK) {
      reading.end(undefined);
    }
  });
  call.on("error", (error: ServiceError) => {
    const trailers = toHeaders(error.metadata);
    reading.end(toFailure(error, trailers), trailers);
    channel.close();
  });
  return reading;
}

interface TransportOptions {
  readonly baseUrl: string;
  readonly nodeOptions: { readonly ca?: string };
}

function rpc(name: string, createTransport: (options: TransportOptions) => Transport): WatchProtocol {
  return {
    name,
    open({ origin, ca }, request, headers) {
      const nodeOptions = ca === undefined ? {} : { ca };
      return overTransport(createTransport({ baseUrl: origin, nodeOptions }), request, headers);
    },
  };
}

function overTransport(transport: Transport, request: WatchRequest, headers: Readonly<Record<string, string>>): Watch {
  const aborting = new AbortController();
  const reading = new Reading(() => aborting.abort());
  async function read(): Promise<void> {
    const messages = (async function* () {
      yield create(method.input, request);
    })();
    const answer = await transport.stream(method, aborting.signal, undefined, { ...headers }, messages);
    reading.begin(answer.header);
    for await (const message of answer.message) {
      reading.told.push(toTold(message));
    }
    reading.end(undefined);
  }
  read().catch((reason: unknown) => {
    const error = ConnectError.from(reason);
    reading.end(failureFromConnectError(error), error.metadata);
  });
  return reading;
}
