import { once } from "node:events";
import type { Target } from "./clients/client.ts";
import { openSocket } from "./raw.ts";

/** What an attacker has sent over one connection, and seen of it. */
export interface Attack {
  readonly sentBytes: number;
  readonly received: Buffer;
  /** Whether the server has ended the connection. */
  readonly isClosed: boolean;
}

/** How an attacker behaves; it reads all that it is sent, unless it is told not to. */
interface Behaviour {
  /** Whether it reads what it is sent. */
  readonly reads?: boolean;
  /** How long it waits for its connection to be ended when it has said all, in milliseconds. */
  readonly patienceMs?: number;
}

/** Writes to a fresh connection as fast as it takes it, until the server ends it or there is no more to say. */
export async function attack(
  target: Target,
  pieces: Iterable<string | Buffer>,
  { reads = true, patienceMs = 20_000 }: Behaviour = {},
): Promise<Attack> {
  const socket = openSocket(target).on("error", () => {});
  const received: Buffer[] = [];
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  if (reads) {
    socket.on("data", (chunk: Buffer) => received.push(chunk));
  }
  for (const piece of pieces) {
    if (socket.destroyed) {
      break;
    }
    if (!socket.write(piece)) {
      const drained = once(socket, "drain").catch(() => {});
      await Promise.race([drained, closed, delay(reads ? patienceMs : 1_000)]);
    }
    if (socket.writableNeedDrain) {
      break;
    }
  }
  // Who leaves its answers unread does not see the end either.
  socket.resume();
  await Promise.race([closed, delay(patienceMs)]);
  const seen = { sentBytes: socket.bytesWritten, received: Buffer.concat(received), isClosed: socket.destroyed };
  socket.destroy();
  return seen;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

/** Does the same again, over so many connections at a time, for as long as is given, in milliseconds. */
export async function repeatFor(ms: number, connections: number, once: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + ms;
  const repeat = async () => {
    do {
      await once();
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: connections }, repeat));
}
