import { connect, type Socket } from "node:net";
import type { Target } from "./clients/client.ts";

/** One answer of HTTP/1.1, read from a socket. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** How long an answer may take before the test fails, in milliseconds. */
const defaultDeadlineMs = 10_000;

/**
 * Writes bytes to a new connection, and reads one answer. The connection stays open meanwhile, so that an incomplete
 * request stays incomplete. Throws when no whole answer comes.
 */
export async function sendRaw(target: Target, bytes: string | Uint8Array): Promise<RawAnswer> {
  const socket = openSocket(target);
  try {
    socket.write(bytes);
    return await readAnswer(socket);
  } finally {
    socket.destroy();
  }
}

/** Opens a connection to the server, and sends nothing. */
export function openSocket({ origin }: Target): Socket {
  const { hostname, port } = new URL(origin);
  return connect({ host: hostname, port: Number(port), noDelay: true });
}

/** Reads one whole answer. */
export function readAnswer(socket: Socket, deadlineMs = defaultDeadlineMs): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let received = "";
    const fail = (why: string) => reject(new Error(`${why}; received: ${JSON.stringify(received.slice(0, 500))}`));
    const timer = setTimeout(() => fail("no answer in time"), deadlineMs);
    const look = (ended: boolean) => {
      const answer = parseAnswer(received, ended);
      if (answer !== undefined) {
        clearTimeout(timer);
        resolve(answer);
      } else if (ended) {
        clearTimeout(timer);
        fail("the connection was closed without a whole answer");
      }
    };
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      look(false);
    });
    socket.on("close", () => look(true));
    socket.on("error", () => {});
  });
}

/** Undefined while the answer is not whole. `ended` means that no more data will come. */
function parseAnswer(received: string, ended: boolean): RawAnswer | undefined {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) {
    return undefined;
  }
  const [statusLine = "", ...lines] = received.slice(0, end).split("\r\n");
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
  const status = Number(statusLine.split(" ")[1]);
  const rest = received.slice(end + 4);
  const text = headers.get("transfer-encoding") === "chunked" ? dechunk(rest) : sized(rest, { headers, status, ended });
  return text === undefined ? undefined : { status, headers, text: Buffer.from(text, "latin1").toString("utf8") };
}

function sized(rest: string, { headers, status, ended }: { headers: Headers; status: number; ended: boolean }) {
  const length = headers.get("content-length");
  if (length === null) {
    return status < 200 || status === 204 || ended ? rest : undefined;
  }
  return rest.length >= Number(length) ? rest.slice(0, Number(length)) : undefined;
}

function dechunk(rest: string): string | undefined {
  let text = "";
  for (let at = 0; ; ) {
    const line = rest.indexOf("\r\n", at);
    const size = Number.parseInt(rest.slice(at, line), 16);
    if (line < 0 || Number.isNaN(size)) {
      return undefined;
    }
    if (size === 0) {
      return text;
    }
    text += rest.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}
