import { once } from "node:events";
import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { Http2Connection } from "../../../src/http/http2/connection.ts";
import type { Http2Stream } from "../../../src/http/http2/stream.ts";

/** A server of HTTP/2 without anything above it. */
export interface Served {
  readonly port: number;
  /** Those that were accepted, in order. */
  readonly connections: readonly Http2Connection[];
  /** Their sockets on the server's side. */
  readonly sockets: readonly Socket[];
  /** The streams that were begun, in order. */
  readonly streams: readonly Http2Stream[];
  /** How many of them have not closed. */
  openCount(): number;
}

/** Serves until the test has finished. `onStream` answers, or does nothing; if it rejects, the test fails. */
export async function serve(
  onStream: (stream: Http2Stream) => unknown = () => {},
  headTimeoutMs = 5_000,
): Promise<Served> {
  const connections: Http2Connection[] = [];
  const sockets: Socket[] = [];
  const streams: Http2Stream[] = [];
  let closed = 0;
  const handlers = {
    onStream(stream: Http2Stream) {
      streams.push(stream);
      onStream(stream);
    },
    onStreamClosed() {
      closed += 1;
    },
    onBurst() {},
  };
  const server = createServer({ noDelay: true }, (socket) => {
    // A client may break off.
    socket.on("error", () => {});
    sockets.push(socket);
    connections.push(new Http2Connection(socket, handlers, headTimeoutMs, 0));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) {
      socket.destroy();
    }
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  return { port, connections, sockets, streams, openCount: () => streams.length - closed };
}

/** Answers with the body of the request, as it comes. */
export async function echo(stream: Http2Stream): Promise<void> {
  stream.respond(200, [], false);
  try {
    for await (const chunk of stream.incoming.stream) {
      stream.write(chunk as Buffer);
      await stream.drained();
    }
    stream.end();
  } catch {
    // The client has taken the request back.
  }
}

/** Reads all of a request's body. */
export async function readAll(stream: Http2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream.incoming.stream) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/** Connects Node's own client, until the test has finished. */
export async function connectNode(
  { port }: Served,
  settings: SecureClientSessionOptions["settings"] = {},
): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`, { settings });
  onTestFinished(() => session.destroy());
  await once(session, "remoteSettings");
  return session;
}

/** A client's answer, as Node's client reads it. */
export interface ClientAnswer {
  /** Names and values in turn, with the status. */
  readonly raw: readonly string[];
  readonly body: Buffer;
  /** Names and values in turn; empty without a trailer. */
  readonly trailer: readonly string[];
}

/** Asks with Node's client. Rejects where the stream or the session fails. */
export function ask(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>> = {},
  body?: Uint8Array,
): Promise<ClientAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/", ...headers }, { endStream: body === undefined });
    let raw: readonly string[] = [];
    let trailer: readonly string[] = [];
    const chunks: Buffer[] = [];
    stream.on("response", (_headers, _flags, rawHeaders) => {
      raw = rawHeaders as unknown as string[];
    });
    stream.on("trailers", (_headers, _flags, rawHeaders) => {
      trailer = rawHeaders as unknown as string[];
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("end", () => resolve({ raw, body: Buffer.concat(chunks), trailer }));
    if (body !== undefined) {
      stream.end(body);
    }
  });
}
