import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";

import type { ConnectServices } from "./connect-services.ts";

type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/** Who answers the streams of an HTTP/2 server. */
export interface StreamHandlers {
  /** Answers the requests for its paths, through Node's compatibility layer. */
  readonly connectServices: ConnectServices;
  /** Answers all others, from the bare stream, which costs a fraction. */
  readonly handleStream: StreamListener;
}

/** The parts of an HTTP/2 server that does not listen itself: it is handed its connections. */
export interface DetachedHttp2Server {
  readonly server: Http2Server;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
}

/** Makes an HTTP/2 server whose connections are handed to it by `server.emit("connection", socket)`. */
export function createDetachedHttp2Server({ connectServices, handleStream }: StreamHandlers): DetachedHttp2Server {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({ settings: { maxConcurrentStreams: 256, enablePush: false } });
  // Node adds the compatibility layer as a listener of `stream`, when `request` is first listened to. Taken off, it
  // serves the paths that need it.
  server.on("request", connectServices.handle as never);
  const compatibility = server.listeners("stream") as StreamListener[];
  server.removeAllListeners("stream");
  const onStream: StreamListener = (stream, headers, flags, rawHeaders) => {
    const isTheirs = connectServices.serves((headers[":path"] ?? "").split("?", 1)[0] as string);
    for (const listener of isTheirs ? compatibility : [handleStream]) {
      listener.call(server, stream, headers, flags, rawHeaders);
    }
  };
  server.on("stream", onStream as never);
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  // A broken session is closed by Node; its streams have been told.
  server.on("sessionError", () => {});
  return { server, sessions };
}
