import { Agent } from "node:http";
import {
  type ConnectTransportOptions,
  compressionGzip,
  createConnectTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { ApiClient, Target } from "./client.ts";
import { createTransportClient } from "./transport.ts";

export interface ConnectVariant {
  readonly httpVersion: "1.1" | "2";
  readonly format: "json" | "binary";
  /** Send RPCs without side effects by GET. */
  readonly get?: true;
  /** Compress requests, however small, and ask for compressed answers. */
  readonly gzip?: true;
}

/** A client of the Connect protocol, by the library that its authors publish. */
export function createConnectClient({ origin }: Target, variant: ConnectVariant): ApiClient {
  const options = {
    baseUrl: origin,
    useBinaryFormat: variant.format === "binary",
    useHttpGet: variant.get === true,
    ...compression(variant),
  };
  return variant.httpVersion === "2" ? overHttp2(origin, options) : overHttp1(options);
}

type CommonOptions = Omit<ConnectTransportOptions, "httpVersion" | "nodeOptions">;

function overHttp1(options: CommonOptions): ApiClient {
  const agent = new Agent({ keepAlive: true });
  const transport = createConnectTransport({ ...options, httpVersion: "1.1", nodeOptions: { agent } });
  return createTransportClient(transport, () => agent.destroy());
}

function overHttp2(origin: string, options: CommonOptions): ApiClient {
  const sessionManager = new Http2SessionManager(origin);
  const transport = createConnectTransport({ ...options, httpVersion: "2", sessionManager });
  return createTransportClient(transport, () => sessionManager.abort());
}

function compression({ gzip }: ConnectVariant): Partial<CommonOptions> {
  return gzip
    ? { sendCompression: compressionGzip, acceptCompression: [compressionGzip], compressMinBytes: 0 }
    : { acceptCompression: [] };
}
