import type { Socket } from "node:net";

/**
 * Two traps of the errors of Node's HTTP/1.1 connections.
 *
 * 1. `clientError` comes again for each further piece that a refused connection brings, even while its answer is being
 *    sent. A second answer would follow the first one.
 * 2. Node takes its own `error` listener off a socket before it emits `connect`. A client that resets the connection
 *    just then would end the process.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: 1. https://github.com/nodejs/node/issues/51073. 2. No issue is known.
 * When mended: 1. delete `oncePerSocket` in `listener.ts`. 2. delete `ignoreErrors` in `http1-server.ts`.
 */

/** Wraps a handler of `clientError` so that each connection is handled once. */
export function oncePerSocket(handle: (error: Error, socket: Socket) => void): typeof handle {
  const handled = new WeakSet<Socket>();
  return (error, socket) => {
    if (!handled.has(socket)) {
      handled.add(socket);
      handle(error, socket);
    }
  };
}

/** Keeps an error of the socket from ending the process. The socket is closed all the same. */
export function ignoreErrors(socket: Socket): void {
  socket.on("error", () => {});
}
