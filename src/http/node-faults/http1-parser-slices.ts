import type { Socket } from "node:net";

/**
 * Fault: Node's HTTP/1.1 parses all that one read brings in one go. 64 KiB may hold 10,000 chunks of a body, at a
 * microsecond each, and nothing can be checked in between. So the parser gets slices.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: no issue is known.
 * When mended: delete this file, and `feedParserInSlices` in `pipelines.ts`. `unshiftInSlices` in `preface.ts` is
 * `socket.unshift`.
 */

/** How much is parsed in one go, in bytes. */
const sliceBytes = 4_096;

/** What Node's HTTP/1.1 keeps on a connection. */
interface ParsedSocket {
  /** Undefined or null once the connection is destroyed, or its parsing has ended, as after CONNECT. */
  readonly parser?: object | null;
  /** Whether Node waits for answers to leave before it parses on, even if somebody resumes the connection. */
  readonly _paused?: boolean;
}

/**
 * From now on gives Node's parser what it reads of a connection in slices, and stops when the connection is destroyed.
 * Calls `afterSlice` after each.
 */
export function feedParserInSlices(socket: Socket & ParsedSocket, afterSlice: () => void): void {
  const [parse] = socket.listeners("data") as [(bytes: Buffer) => void];
  socket.on("data", (bytes: Buffer) => {
    for (let start = 0; start < bytes.length && !socket.destroyed && socket.parser; start += sliceBytes) {
      if (socket.isPaused() || socket._paused === true) {
        socket.pause().unshift(bytes.subarray(start));
        return;
      }
      parse(bytes.subarray(start, start + sliceBytes));
      afterSlice();
    }
  });
  socket.off("data", parse);
  // With a listener of ours, Node leaves reading to the socket. The socket may take itself for reading though Node had
  // stopped it: an empty push makes it look again.
  socket.push(Buffer.alloc(0));
}

/** Puts back bytes that were read from a paused connection, as slices. */
export function unshiftInSlices(socket: Socket, bytes: Buffer): void {
  const last = bytes.length - (bytes.length % sliceBytes || sliceBytes);
  for (let start = last; start >= 0; start -= sliceBytes) {
    socket.unshift(bytes.subarray(start, start + sliceBytes));
  }
}
