import { Agent } from "node:http";
import { createGrpcWebTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { ApiClient, Target } from "./client.ts";
import { createTransportClient } from "./transport.ts";

/** A client of gRPC-Web over HTTP/1.1, as browsers speak it to a server without TLS. */
export function createGrpcWebClient({ origin }: Target): ApiClient {
  const agent = new Agent({ keepAlive: true });
  const transport = createGrpcWebTransport({ baseUrl: origin, httpVersion: "1.1", nodeOptions: { agent } });
  return createTransportClient(transport, () => agent.destroy());
}

/** A client of gRPC-Web over HTTP/2. */
export function createGrpcWebHttp2Client({ origin }: Target): ApiClient {
  const sessionManager = new Http2SessionManager(origin);
  const transport = createGrpcWebTransport({ baseUrl: origin, httpVersion: "2", sessionManager });
  return createTransportClient(transport, () => sessionManager.abort());
}
