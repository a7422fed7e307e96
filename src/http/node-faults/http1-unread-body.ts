import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { destroyIfOverFragmented, drainBody } from "../body.ts";
import { readBuffered } from "./read-buffered.ts";

/** A request over HTTP/1.1 with its connection, which Node takes from it when it is destroyed. */
export interface ConnectedRequest {
  readonly request: IncomingMessage;
  readonly socket: Socket;
}

/**
 * Keeps Node from what it does with a body that nobody has begun to read when the answer ends: it would take all of
 * it, however long. To be called before the answer is written.
 */
export function preventAutoDrain({ request }: ConnectedRequest): void {
  if (!request.complete && !destroyIfOverFragmented(request)) {
    // To have it begun, what has come must go for a moment: with as much of it as is kept, nothing more would be asked
    // for.
    const come = readBuffered(request);
    if (come.length > 0) {
      request.unshift(come);
    }
  }
}

/**
 * Throws away what has not been read of a body, within bounds, past which the connection is closed. To be called when
 * the answer has been written.
 */
export function drainWithinBounds({ request, socket }: ConnectedRequest): void {
  if (request.complete) {
    return;
  }
  // Of a body that came with the head the parser has not told yet.
  setImmediate(() => {
    if (!request.complete) {
      drainBody(request, () => socket.destroy());
    }
  });
}
