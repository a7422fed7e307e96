import { once } from "node:events";
import type { Writable } from "node:stream";
import type { Answer } from "./exchange.ts";

/** Whether a body comes in pieces. */
export function isStream(body: Answer["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

/** The length of a body that is whole, in bytes; 0 when there is none. */
export function byteLength(body: string | Uint8Array | undefined): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

/**
 * Writes a body that is a stream, and ends the target; resolves when all has been handed over, or the client has gone
 * away. The stream is pulled no faster than the client reads. When it throws, the target is destroyed with its error.
 */
export async function sendBody(target: Writable, body: AsyncIterable<Uint8Array>): Promise<void> {
  const closed = new Promise<void>((resolve) => target.once("finish", resolve).once("close", resolve));
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
