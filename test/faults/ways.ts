import { protocolNamed } from "../support/clients/protocols.ts";

/** One way in of each kind: every protocol, and both versions of HTTP. */
export const ways = ["REST, HTTP/1.1", "REST, HTTP/2", "Connect JSON, HTTP/1.1", "gRPC", "gRPC-Web, HTTP/1.1"].map(
  protocolNamed,
);
