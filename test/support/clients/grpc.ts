import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Code, ConnectError } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import {
  type ChannelOptions,
  Client,
  compressionAlgorithms,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { type Input, type Operation, operations, rpcPath } from "../operations.ts";
import { type ApiClient, type CallOptions, type Outcome, requestHeaders, type Target } from "./client.ts";
import { failureFromConnectError } from "./failure.ts";
import { mergeHeaders } from "./headers.ts";

/** A client of gRPC by `@grpc/grpc-js`, which shares no code with the server. */
export function createGrpcClient(target: Target): ApiClient {
  return createWith(target, {});
}

/** As `createGrpcClient`, with every request compressed. */
export function createGrpcGzipClient(target: Target): ApiClient {
  return createWith(target, { "grpc.default_compression_algorithm": compressionAlgorithms.gzip });
}

function createWith(target: Target, options: ChannelOptions): ApiClient {
  const channel = openChannel(target, options);
  return {
    close: () => channel.close(),
    call: (operation, input, call = {}) => unary(channel, operation, input, call),
  };
}

/** A channel of grpc-js, for calls that are not operations of the API. */
export function openChannel({ origin, ca }: Target, options: ChannelOptions = {}): Client {
  const security = ca === undefined ? credentials.createInsecure() : credentials.createSsl(Buffer.from(ca));
  // The certificate is for localhost too; an address cannot be the name that TLS asks for.
  const name = ca === undefined ? {} : { "grpc.ssl_target_name_override": "localhost" };
  return new Client(new URL(origin).host, security, { "grpc.enable_retries": 0, ...name, ...options });
}

/** How grpc-js writes and reads a message. */
export function codec(schema: DescMessage) {
  return {
    write: (message: never) => Buffer.from(toBinary(schema, message)),
    read: (bytes: Buffer) => fromBinary(schema, bytes) as never,
  };
}

function unary<O extends Operation>(channel: Client, operation: O, input: Input<O>, options: CallOptions) {
  const method = operations[operation];
  return new Promise<Outcome<O>>((resolve, reject) => {
    let headers = new Headers();
    const call = channel.makeUnaryRequest(
      rpcPath(operation),
      codec(method.input).write,
      codec(method.output).read,
      create(method.input, input as never) as never,
      toMetadata(requestHeaders(options)),
      (error: ServiceError | null, message?: never) => {
        if (error !== null) {
          const trailers = toHeaders(error.metadata);
          resolve({ failure: toFailure(error, trailers), headers: mergeHeaders(headers, trailers) });
        } else if (message !== undefined) {
          resolve({ message, headers });
        } else {
          reject(new Error("grpc-js gave neither an error nor a message"));
        }
      },
    );
    call.on("metadata", (metadata: Metadata) => {
      headers = toHeaders(metadata);
    });
  });
}

/** grpc-js decodes the message that users see. It leaves the details, which have the message once more, in the trailers. */
export function toFailure({ code, details: message }: ServiceError, metadata: Headers) {
  const error = findTrailerError(metadata) ?? new ConnectError(message, code as number as Code);
  return { ...failureFromConnectError(error), message };
}

function toMetadata(headers: Record<string, string>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    metadata.set(name, value);
  }
  return metadata;
}

export function toHeaders(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const name of Object.keys(metadata.getMap())) {
    for (const value of metadata.get(name)) {
      headers.append(name, typeof value === "string" ? value : value.toString("base64"));
    }
  }
  return headers;
}
