import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Http1Server } from "./http1/server.ts";
import type { Http2Server } from "./http2/server.ts";

/** How the first bytes of an HTTP/2 connection read. Source: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const prefaceStart = Buffer.from("PRI ");

/** How the protocol of a connection is told. */
export interface SplitOptions {
  readonly http1: Http1Server;
  readonly http2: Http2Server;
  /** Undefined for cleartext. */
  readonly tls: object | undefined;
  /** How long a connection in cleartext may take to send its first bytes, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** Gives accepted connections to the server of their protocol: by their first bytes in cleartext, by ALPN over TLS. */
export function splitByProtocol(server: Server, { http1, http2, tls, requestTimeoutMs }: SplitOptions): void {
  const accept = (socket: Socket, isHttp2: boolean) => {
    (isHttp2 ? http2 : http1).accept(socket);
    socket.resume();
  };
  if (tls === undefined) {
    server.on("connection", (socket: Socket) => {
      detectHttp2(socket, requestTimeoutMs, (isHttp2) => accept(socket, isHttp2));
    });
  } else {
    server.on("secureConnection", (socket: TLSSocket) => accept(socket, socket.alpnProtocol === "h2"));
  }
}

/**
 * Tells by the first bytes of a connection whether the client speaks HTTP/2, and puts the bytes back. Closes a
 * connection that stays silent for `timeoutMs`. Calls nobody back for one that ends before it is told.
 */
function detectHttp2(socket: Socket, timeoutMs: number, found: (isHttp2: boolean) => void): void {
  let seen: Buffer = Buffer.alloc(0);

  function onData(chunk: Buffer): void {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, prefaceStart.length);
    const isStart = seen.compare(prefaceStart, 0, length, 0, length) === 0;
    if (isStart && length < prefaceStart.length) {
      return;
    }
    stop();
    socket.pause();
    socket.unshift(seen);
    found(isStart);
  }
  function giveUp(): void {
    stop();
    socket.destroy();
  }
  function stop(): void {
    clearTimeout(timer);
    socket.off("data", onData).off("end", giveUp).off("close", stop);
  }

  const timer = setTimeout(giveUp, timeoutMs);
  // Without `close`, the timer of a closed connection would keep a stopping server from ending.
  socket.on("data", onData).on("end", giveUp).on("close", stop);
}
