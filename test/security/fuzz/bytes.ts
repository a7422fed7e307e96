import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect } from "vitest";
import type { Random } from "../../support/random.ts";
import { openSocket } from "../../support/raw.ts";
import type { WatchedServer } from "./watched-server.ts";

/** After how long a server that is silent has said what it has to say, in milliseconds. */
const answeredMs = 20;

/** How long it may be silent once it has been left, in milliseconds: it may have a stream to go on with. */
const silenceMs = 300;

/** By the specification of gRPC, a message that is compressed without a name is `internal`, and the client's fault. */
const unnamedCompression = "[^]{0,40}marked(?: |%20)as(?: |%20)compressed";

const internalError = new RegExp(
  `HTTP/1\\.[01] 500|"INTERNAL"|"internal"(?!${unnamedCompression})|grpc-status: (?:13(?!${unnamedCompression})|2)\r`,
);

/**
 * Writes bytes to a connection of their own, in one piece or several, and waits until it is closed. Expects that no
 * answer tells of an internal error, or holds a key. Over HTTP/2 that sees bodies alone, since headers are compressed:
 * there it is what the log tells that counts, which is looked over after each batch.
 */
export async function sendBytes(random: Random, bytes: Buffer, watched: WatchedServer): Promise<void> {
  const socket = openSocket(watched.server);
  let received = "";
  socket
    .on("error", () => {})
    .on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  for (const piece of pieces(random, bytes)) {
    socket.write(piece);
    await setImmediate();
  }
  if (random.oneIn(2)) {
    await Promise.race([silent(socket), closed]);
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
  const count = random.pick([0, 0, 0, 1, 2]);
  const cuts = Array.from({ length: count }, () => random.below(bytes.length)).sort((a, b) => a - b);
  return [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length));
}

function silent(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.setTimeout(answeredMs, resolve));
}

/** By closing its side, which lets an answer come, or by a reset. */
function leave(socket: Socket, random: Random): void {
  if (random.oneIn(8)) {
    socket.resetAndDestroy();
    return;
  }
  socket.setTimeout(silenceMs, () => socket.destroy());
  socket.end();
}
