import type { Socket } from "node:net";
import { unshiftInSlices } from "./node-faults/http1-parser-slices.ts";

/** How the first bytes of an HTTP/2 connection read. Source: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const prefaceStart = Buffer.from("PRI ");

/**
 * Tells by the first bytes of a connection whether the client speaks HTTP/2, and puts the bytes back. It does not call
 * back for a connection that ends before that, or stays silent for `timeoutMs`, which closes it.
 */
export function detectHttp2(socket: Socket, timeoutMs: number, found: (isHttp2: boolean) => void): void {
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
      // In one piece: a session that the first of several has ended is handed the next by Node, which ends the process.
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
  // A timer that outlives its connection would keep a server that is told to stop from ending.
  socket.on("data", onData).on("end", giveUp).on("close", stop);
}
