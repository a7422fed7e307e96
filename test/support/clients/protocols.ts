import { createHttp1Client, createHttp2Client } from "../http.ts";
import type { ApiClient, Target } from "./client.ts";
import { type ConnectVariant, createConnectClient } from "./connect.ts";
import { createGrpcClient, createGrpcGzipClient } from "./grpc.ts";
import { createGrpcWebClient, createGrpcWebHttp2Client } from "./grpc-web.ts";
import { createRestClient } from "./rest.ts";

/** One way in, as `describe.each` takes it. */
export interface Protocol {
  readonly name: string;
  open(target: Target): ApiClient;
}

/** JSON over the documented paths. */
export const restProtocols: readonly Protocol[] = [
  { name: "REST, HTTP/1.1", open: (target) => createRestClient(createHttp1Client(target)) },
  { name: "REST, HTTP/2", open: (target) => createRestClient(createHttp2Client(target)) },
];

/** Connect by every encoding and version of HTTP. */
const connectProtocols: readonly Protocol[] = [
  connect("Connect JSON, HTTP/1.1", { httpVersion: "1.1", format: "json" }),
  connect("Connect JSON, HTTP/2", { httpVersion: "2", format: "json" }),
  connect("Connect binary, HTTP/1.1", { httpVersion: "1.1", format: "binary" }),
  connect("Connect binary, HTTP/2", { httpVersion: "2", format: "binary" }),
  connect("Connect binary, gzip", { httpVersion: "2", format: "binary", gzip: true }),
  connect("Connect JSON by GET, HTTP/1.1", { httpVersion: "1.1", format: "json", get: true }),
  connect("Connect binary by GET, HTTP/2", { httpVersion: "2", format: "binary", get: true }),
];

/** All of the RPC protocols. */
export const rpcProtocols: readonly Protocol[] = [
  ...connectProtocols,
  { name: "gRPC", open: createGrpcClient },
  { name: "gRPC, gzip", open: createGrpcGzipClient },
  { name: "gRPC-Web, HTTP/1.1", open: createGrpcWebClient },
  { name: "gRPC-Web, HTTP/2", open: createGrpcWebHttp2Client },
];

/** Every way in. What the API does, it does over all of them. */
export const protocols: readonly Protocol[] = [...restProtocols, ...rpcProtocols];

/** The one way in that has this name. Throws where none has. */
export function protocolNamed(name: string): Protocol {
  const protocol = protocols.find((each) => each.name === name);
  if (protocol === undefined) {
    throw new Error(`there is no protocol "${name}"; there are ${protocols.map((each) => each.name).join("; ")}`);
  }
  return protocol;
}

/** For what is the same over all of them. */
export const rest = protocolNamed("REST, HTTP/1.1");

function connect(name: string, variant: ConnectVariant): Protocol {
  return { name, open: (target) => createConnectClient(target, variant) };
}
