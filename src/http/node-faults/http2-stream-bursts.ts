import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

/** Where Node tells of a stream while it takes apart what it has read, before it goes on to the next. */
const channel = "http2.server.stream.created";

/**
 * Ends HTTP/2 connections of this process that open more than so many streams in one turn of the event loop. None of
 * them is answered within the turn, so that the client has taken most of them back. Without it Node takes apart all
 * that it reads in a turn, some 800 such streams per 64 KiB, before what it has for a limit ends the connection.
 * `report` is told of whose connections they are. Returns how to stop it.
 *
 * nginx has the same limit: https://github.com/nginx/nginx/commit/6ceef192e7af1c507826ac38a2d43f08bf265fb9
 */
export function limitStreamBursts(mostPerTurn: number, report: (peerAddress: string) => void): () => void {
  const opened = new Map<ServerHttp2Session, number>();

  function onCreated(message: unknown): void {
    const { stream } = message as { stream: ServerHttp2Stream };
    const session = stream.session as ServerHttp2Session;
    if (opened.size === 0) {
      setImmediate(() => opened.clear());
    }
    const count = (opened.get(session) ?? 0) + 1;
    opened.set(session, count);
    if (count > mostPerTurn) {
      report(session.socket.remoteAddress ?? "");
      // Nobody else hears of this one before it is destroyed.
      stream.on("error", () => {});
      session.destroy(new Error("too many streams at once"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
  }

  subscribe(channel, onCreated);
  return () => unsubscribe(channel, onCreated);
}
