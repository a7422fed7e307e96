import { type Protocol, protocols } from "../support/clients/protocols.ts";

/** One way in of each kind: every protocol, and both versions of HTTP. */
export const ways: readonly Protocol[] = [
  "REST, HTTP/1.1",
  "REST, HTTP/2",
  "Connect JSON, HTTP/1.1",
  "gRPC",
  "gRPC-Web, HTTP/1.1",
].map((way) => protocols.find(({ name }) => name === way) as Protocol);

/** The first of them, for what is the same over all. */
export const rest = ways[0] as Protocol;
