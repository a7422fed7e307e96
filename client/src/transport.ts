import type { Transport as ConnectTransport, Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { toWholeTimeout } from "./timeout-option.ts";
import type { Transport, TransportOptions } from "./transport-option.ts";

/**
 * The transport that the option makes; by default Connect over `fetch`. It sees only whole timeouts: interceptors come
 * after the transport has made timer and header of them. Only this file uses Connect's own types: they need a newer
 * TypeScript than the client's.
 */
export function createTransport(
  create: ((options: TransportOptions) => Transport) | undefined,
  options: { baseUrl: string; interceptors: Interceptor[] },
): ConnectTransport {
  const transport = create === undefined ? createConnectTransport(options) : (create(options) as ConnectTransport);
  return {
    unary: async (method, signal, timeoutMs, ...call) =>
      transport.unary(method, signal, toWholeTimeout(timeoutMs), ...call),
    stream: async (method, signal, timeoutMs, ...call) =>
      transport.stream(method, signal, toWholeTimeout(timeoutMs), ...call),
  };
}
