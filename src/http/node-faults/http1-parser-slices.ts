import type { Socket } from "node:net";

/** How much of what a connection sends is parsed in one step, in bytes. */
const stepBytes = 4_096;

/** What Node's HTTP/1.1 notes on a connection. */
interface Noted {
  /** Undefined or null of a connection that is destroyed, or of which no more is parsed, as behind CONNECT. */
  readonly parser?: object | null;
  /** Whether nothing may be parsed before some of the answers have left, whoever resumes the connection. */
  readonly _paused?: boolean;
}

/**
 * Has Node's HTTP/1.1 parse in small steps what it reads of a connection from now on, and no more of it once the
 * connection is destroyed. Otherwise it takes 64 KiB in one go, which may be 10,000 chunks of a body, at a microsecond
 * each. `afterStep` is called after each step.
 */
export function feedParserInSlices(socket: Socket & Noted, afterStep: () => void): void {
  const [parse] = socket.listeners("data") as [(bytes: Buffer) => void];
  socket.on("data", (bytes: Buffer) => {
    for (let start = 0; start < bytes.length && !socket.destroyed && socket.parser; start += stepBytes) {
      if (socket.isPaused() || socket._paused === true) {
        socket.pause().unshift(bytes.subarray(start));
        return;
      }
      parse(bytes.subarray(start, start + stepBytes));
      afterStep();
    }
  });
  socket.off("data", parse);
  // Node's HTTP/1.1 leaves reading to the socket from here on, which may take itself for reading though it was stopped.
  socket.push(Buffer.alloc(0));
}

/** Puts back bytes that were read from a paused connection, to be read again in small steps. */
export function unshiftInSlices(socket: Socket, bytes: Buffer): void {
  const last = bytes.length - (bytes.length % stepBytes || stepBytes);
  for (let start = last; start >= 0; start -= stepBytes) {
    socket.unshift(bytes.subarray(start, start + stepBytes));
  }
}
