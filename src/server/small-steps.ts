import type { Socket } from "node:net";

/** How much of what a connection sends is parsed in one step, in bytes. */
const stepBytes = 4_096;

/**
 * Has Node's HTTP/1.1 parse in small steps what a connection sends from now on, and no more of it once the connection is
 * destroyed. Otherwise it takes 64 KiB in one go, which may be 10,000 chunks of a body, at a microsecond each.
 * `afterStep` is called after each.
 */
export function parseInSteps(socket: Socket, afterStep: () => void): void {
  const [parse] = socket.listeners("data") as [(bytes: Buffer) => void];
  socket.on("data", (bytes: Buffer) => {
    for (let start = 0; start < bytes.length && isParsed(socket); start += stepBytes) {
      if (socket.isPaused()) {
        socket.unshift(bytes.subarray(start));
        return;
      }
      parse(bytes.subarray(start, start + stepBytes));
      afterStep();
    }
  });
  socket.off("data", parse);
}

/** Node takes its parser from a connection that is destroyed, or of which it parses no more, as behind CONNECT. */
function isParsed(socket: Socket & { readonly parser?: object | null }): boolean {
  return !socket.destroyed && socket.parser !== null && socket.parser !== undefined;
}

/** Puts back bytes that were read from a paused connection, to be read again in small steps. */
export function putBackInSteps(socket: Socket, bytes: Buffer): void {
  const last = bytes.length - (bytes.length % stepBytes || stepBytes);
  for (let start = last; start >= 0; start -= stepBytes) {
    socket.unshift(bytes.subarray(start, start + stepBytes));
  }
}
