import { once } from "node:events";
import type { Writable } from "node:stream";

/**
 * Writes a body and ends the stream; resolves when all has been handed over, or the client has gone away. A stream is
 * pulled no faster than the client reads. A body that throws destroys the stream, with its error.
 */
export async function sendBody(
  target: Writable,
  body: Uint8Array | AsyncIterable<Uint8Array> | undefined,
): Promise<void> {
  const closed = new Promise<void>((resolve) => target.once("finish", resolve).once("close", resolve));
  if (body === undefined || body instanceof Uint8Array) {
    target.end(body);
    return closed;
  }
  try {
    for await (const chunk of body) {
      if (target.destroyed) {
        return;
      }
      if (!target.write(chunk)) {
        await Promise.race([once(target, "drain"), closed]);
      }
    }
    target.end();
  } catch (error) {
    target.destroy(error as Error);
  }
  return closed;
}
