import { once } from "node:events";
import type { Target } from "../support/clients/client.ts";
import { openSocket } from "../support/raw.ts";

/** What an attacker has seen of one connection. */
export interface Attack {
  /** Whether the server has ended the connection. */
  readonly isClosed: boolean;
  /** What the server has said; a reset may have taken the last of it away. */
  readonly received: Buffer;
}

/** How an attacker behaves; it reads all that it is sent, unless it is told not to. */
interface Behaviour {
  /** Whether it reads what it is sent. */
  readonly reads?: boolean;
  /** How long it waits for its connection to be ended when it has said all, in milliseconds. */
  readonly patienceMs?: number;
}

/**
 * Writes to a fresh connection as fast as it takes it, until the server ends it or there is no more to say. Rejects
 * where no connection is to be had.
 */
export async function attack(
  target: Target,
  pieces: Iterable<string | Buffer>,
  { reads = true, patienceMs = 20_000 }: Behaviour = {},
): Promise<Attack> {
  const socket = openSocket(target);
  let isConnected = false;
  socket.once("connect", () => {
    isConnected = true;
  });
  const closed = new Promise<void>((resolve) => socket.on("error", () => {}).once("close", () => resolve()));
  const received: Buffer[] = [];
  const read = () => socket.on("data", (chunk: Buffer) => received.push(chunk));
  if (reads) {
    read();
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
  if (!reads) {
    read();
  }
  await Promise.race([closed, delay(patienceMs)]);
  if (!isConnected) {
    throw new Error(`${target.origin} takes no connection`);
  }
  const seen = { isClosed: socket.destroyed, received: Buffer.concat(received) };
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
