import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Http2Server } from "./http2-server.ts";
import { unshiftInSlices } from "./node-faults/http1-parser-slices.ts";

/** How the first bytes of an HTTP/2 connection read. Source: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const prefaceStart = Buffer.from("PRI ");

/** How the protocol of a connection is told. */
export interface SplitOptions {
  /** Undefined for cleartext. */
  readonly tls: object | undefined;
  /** How long a connection in cleartext may take to send its first bytes, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/**
 * Gives the connections that `http1` accepts to the server of their protocol: by their first bytes in cleartext, by
 * ALPN over TLS.
 *
 * Node's HTTP/1.1 server is the one that listens, so that its timeouts hold. Its own listeners for connections are
 * taken off, and called for those of HTTP/1.1.
 */
export function splitByProtocol(http1: Server, http2: Http2Server, { tls, requestTimeoutMs }: SplitOptions): void {
  const event = tls === undefined ? "connection" : "secureConnection";
  const http1Listeners = http1.listeners(event) as ((socket: Socket) => void)[];
  http1.removeAllListeners(event);

  function connect(socket: Socket, isHttp2: boolean): void {
    if (isHttp2) {
      socket.allowHalfOpen = false;
      http2.accept(socket);
    } else {
      for (const listener of http1Listeners) {
        listener.call(http1, socket);
      }
    }
    socket.resume();
  }
  http1.on(event, (socket: Socket) => {
    if (tls === undefined) {
      detectHttp2(socket, requestTimeoutMs, (isHttp2) => connect(socket, isHttp2));
    } else {
      connect(socket, (socket as TLSSocket).alpnProtocol === "h2");
    }
  });
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
    if (isStart) {
      socket.unshift(seen);
    } else {
      unshiftInSlices(socket, seen);
    }
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
