import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import { openSocket } from "../../support/raw.ts";
import type { Random } from "./random.ts";
import type { WatchedServer } from "./watched-server.ts";

/** How long a server may be silent that has been left, in milliseconds: it may have a stream to go on with. */
const silenceMs = 300;

const internalError = /HTTP\/1\.[01] 500|"INTERNAL"|"internal"|grpc-status: (?:13|2)\r/;

/**
 * Writes bytes to a connection of their own, in one piece or several, and waits until it is closed. Expects that no
 * answer tells of an internal error, or holds a key.
 */
export async function sendBytes(random: Random, bytes: Buffer, watched: WatchedServer): Promise<void> {
  const socket = openSocket(watched.server);
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  socket.on("error", () => {}).setTimeout(silenceMs, () => socket.destroy());
  const closed = new Promise((resolve) => socket.once("close", resolve));
  for (const piece of pieces(random, bytes)) {
    socket.write(piece);
    await setImmediate();
  }
  leave(socket, random);
  await closed;
  expect(received).not.toMatch(internalError);
  for (const key of [watched.readerKey, watched.writerKey]) {
    expect(received).not.toContain(key);
  }
}

/** Mostly one, at times two or three. */
function pieces(random: Random, bytes: Buffer): readonly Buffer[] {
  const cuts = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, () => random.below(bytes.length)).sort(
    (a, b) => a - b,
  );
  return [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length));
}

/** By closing its side, which lets the answer come, or by a reset. */
function leave(socket: Socket, random: Random): void {
  if (random.oneIn(8)) {
    socket.resetAndDestroy();
  } else {
    socket.end();
  }
}
