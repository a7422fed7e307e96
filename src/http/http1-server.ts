import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { ignoreErrors } from "./node-faults/http1-socket-errors.ts";

/** How an HTTP/1.1 server takes and answers requests. */
export interface Http1ServerOptions {
  /** PEM texts. Undefined for cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** How long the head of a request may take to arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
  readonly handleRequest: RequestListener;
  /** Answers a request that Node's parser refuses, or that came too late, on the bare socket, and closes it. */
  readonly handleParseError: (error: Error, socket: Socket) => void;
}

/** Makes Node's HTTP/1.1 server. Over TLS it offers both versions of HTTP by ALPN. */
export function createHttp1Server(options: Http1ServerOptions): Server {
  const { tls, requestTimeoutMs, handleRequest, handleParseError } = options;
  const settings = {
    headersTimeout: requestTimeoutMs,
    // `BodyReader` times bodies that are read; this bounds those that nobody reads.
    requestTimeout: 2 * requestTimeoutMs,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 1_000,
    // The handlers refuse a request without Host, like any other malformed one.
    requireHostHeader: false,
  };
  const server =
    tls === undefined
      ? createServer(settings, handleRequest)
      : createHttpsServer({ ...settings, ...tls, ALPNProtocols: ["h2", "http/1.1"] }, handleRequest);
  // How long a client may take nothing of an answer, in milliseconds.
  server.timeout = 120_000;
  // `100 Continue` is sent when a handler reads the body, and never otherwise.
  server.on("checkContinue", handleRequest);
  server.on("checkExpectation", handleRequest);
  server.on("clientError", (error, socket) => handleParseError(error, socket as Socket));
  server.on("connect", (_request, socket) => handleParseError(new Error("CONNECT is not served"), socket as Socket));
  return server;
}

/** The open connections of a server, whatever their protocol, and whether or not they have sent anything. */
export class Connections {
  readonly #sockets = new Set<Socket>();

  /** Collects a server's connections; over TLS both the encrypted and the decrypted side of each. */
  constructor(server: Server) {
    for (const event of ["connection", "secureConnection"]) {
      server.on(event, (socket: Socket) => {
        this.#sockets.add(socket);
        ignoreErrors(socket);
        socket.once("close", () => this.#sockets.delete(socket));
      });
    }
  }

  /** Closes each connection as soon as all that was written to it has been sent. */
  end(): void {
    for (const socket of this.#sockets) {
      socket.destroySoon();
    }
  }

  destroy(): void {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }
}
