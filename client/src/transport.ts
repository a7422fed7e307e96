import type { Transport as ConnectTransport, Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { Transport, TransportOptions } from "./transport-option.ts";

/**
 * The transport that the option makes; by default Connect over `fetch`. Only this file uses Connect's own types: they
 * need a newer TypeScript than the client's.
 */
export function createTransport(
  create: ((options: TransportOptions) => Transport) | undefined,
  options: { baseUrl: string; interceptors: Interceptor[] },
): ConnectTransport {
  return create === undefined ? createConnectTransport(options) : (create(options) as ConnectTransport);
}
