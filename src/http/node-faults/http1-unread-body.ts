import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { destroyIfOverFragmented, drainBody } from "../body.ts";
import { readBuffered } from "./read-buffered.ts";

/**
 * Fault: when an answer ends, Node dumps the request's body if nobody has started to read it. It reads all of it,
 * however long it is. Reading and unshifting marks the body as started; then it is drained within bounds.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: https://github.com/nodejs/node/pull/20088 made the dump depend on whether a read was tried. Source:
 *   `resOnFinish` in https://github.com/nodejs/node/blob/main/lib/_http_server.js
 * When mended: delete `preventAutoDrain`. Keep `drainWithinBounds` if Node then leaves the body alone.
 */

/** A request over HTTP/1.1 with its connection, which Node takes from it when it is destroyed. */
export interface ConnectedRequest {
  readonly request: IncomingMessage;
  readonly socket: Socket;
}

/** Keeps Node from dumping the unread body. To be called before the answer is written. */
export function preventAutoDrain({ request }: ConnectedRequest): void {
  if (!request.complete && !destroyIfOverFragmented(request)) {
    // Node asks for more only when its buffer has room, and a read marks the body as started only if it asks for more.
    const buffered = readBuffered(request);
    if (buffered.length > 0) {
      request.unshift(buffered);
    }
  }
}

/**
 * Throws away the unread rest of a body, and closes the connection past the bounds of `drainBody`. To be called when
 * the answer has been written.
 */
export function drainWithinBounds({ request, socket }: ConnectedRequest): void {
  if (request.complete) {
    return;
  }
  // The parser reports the end of a body that came with the head only after this turn.
  setImmediate(() => {
    if (!request.complete) {
      drainBody(request, () => socket.destroy());
    }
  });
}
