import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";

/** What an HTTP/1.1 server does with what it hears. */
export interface Http1ServerOptions {
  /** PEM texts. Undefined for cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** How long the head of a request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
  readonly handleRequest: RequestListener;
  /** Answers, on the bare socket, what is no HTTP or came too late, and closes it. */
  readonly handleParseError: (error: Error, socket: Socket) => void;
}

/** Makes Node's HTTP/1.1 server, with ALPN for both versions of HTTP where it speaks TLS. */
export function createHttp1Server({
  tls,
  requestTimeoutMs,
  handleRequest,
  handleParseError,
}: Http1ServerOptions): Server {
  const settings = {
    headersTimeout: requestTimeoutMs,
    // The body's time is kept where it is read; this bounds what nobody reads.
    requestTimeout: 2 * requestTimeoutMs,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 1_000,
    // A request without Host is answered by the handlers, as any other that is malformed.
    requireHostHeader: false,
  };
  const server =
    tls === undefined
      ? createServer(settings, handleRequest)
      : createHttpsServer({ ...settings, ...tls, ALPNProtocols: ["h2", "http/1.1"] }, handleRequest);
  // A client that takes nothing of an answer for so long is given up.
  server.timeout = 120_000;
  // `100 Continue` is sent when a handler reads the body, and never otherwise.
  server.on("checkContinue", handleRequest);
  server.on("checkExpectation", handleRequest);
  server.on("clientError", (error, socket) => handleParseError(error, socket as Socket));
  server.on("connect", (_request, socket) => handleParseError(new Error("CONNECT is not served"), socket as Socket));
  return server;
}
