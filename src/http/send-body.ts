import { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import type { Answer } from "./exchange.ts";

/** Whether a body comes in pieces. */
export function isStream(body: Answer["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

/** The length of a body, in bytes; 0 for none. */
export function byteLength(body: string | Uint8Array | undefined): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

/** The largest piece of a body, in bytes, that is written at once to a shared connection. */
const pieceBytes = 256 * 1024;

/**
 * Yields a body in small pieces, so that a large one is written no faster than the client reads. Of the many that share
 * a connection, each then holds one piece at most: past `maxSessionMemory` Node refuses all further streams.
 */
export async function* inPieces(body: Answer["body"]): AsyncGenerator<Uint8Array> {
  for await (const bytes of chunks(body)) {
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      yield bytes.subarray(start, start + pieceBytes);
    }
  }
}

/** Yields a body as it comes. */
export async function* chunks(body: Answer["body"]): AsyncGenerator<Uint8Array> {
  if (isStream(body)) {
    yield* body;
  } else if (body !== undefined) {
    yield typeof body === "string" ? Buffer.from(body) : body;
  }
}

/** Whether a body is so large that it is written in pieces. */
export function isLarge(body: string | Uint8Array | undefined): boolean {
  return byteLength(body) > pieceBytes;
}

/** Resolves when more can be written, or nothing any more. A stream may wait often, so nothing is left behind. */
function drained(target: Writable): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      target.off("drain", settle);
      target.off("close", settle);
      resolve();
    };
    target.on("drain", settle);
    target.on("close", settle);
  });
}

/**
 * Writes a body and a trailer, and ends the target. Resolves to the number of bytes that were written, when all of them
 * have been handed to the system or the client has gone away. Pulls the body no faster than the client reads. If the
 * body throws, the target is destroyed with its error.
 */
export async function sendBody(target: Writable, body: AsyncIterable<Uint8Array>, trailer?: Headers): Promise<number> {
  const closed = new Promise<void>((resolve) => target.once("finish", resolve).once("close", resolve));
  let bytes = 0;
  try {
    for await (const chunk of body) {
      if (target.destroyed) {
        return bytes;
      }
      bytes += chunk.length;
      if (!target.write(chunk)) {
        await drained(target);
      }
    }
    if (trailer !== undefined && target instanceof ServerResponse) {
      target.addTrailers([...trailer]);
    }
    target.end();
  } catch (error) {
    target.destroy(error as Error);
  }
  await closed;
  return bytes;
}
