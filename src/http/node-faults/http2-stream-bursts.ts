import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

/**
 * Fault: Node enforces its limits of resets (`streamResetBurst`, `streamResetRate`) only after it has parsed all that
 * it read in a turn of the event loop. 64 KiB hold some 800 streams that are opened and reset at once, and up to 32
 * such reads make a turn. A server can act within the parsing only through a diagnostics channel.
 *
 * Seen with: Node 24.21 and 26.10.
 * Upstream: no issue is known. It is what is left of CVE-2023-44487 (rapid reset).
 * When mended: delete this file, its call in `http2-server.ts`, and the `reportBurst` options.
 */

/** Node publishes each stream here while it parses, before it goes on to the next. */
const channel = "http2.server.stream.created";

/**
 * Destroys HTTP/2 sessions of this process that open more streams than `maxPerTurn` in one turn of the event loop. None
 * of them can be answered within the turn, so the client has reset most of them. `report` gets the address of the peer.
 * Returns how to stop it.
 *
 * nginx has the same limit: https://github.com/nginx/nginx/commit/6ceef192e7af1c507826ac38a2d43f08bf265fb9
 */
export function limitStreamBursts(maxPerTurn: number, report: (peerAddress: string) => void): () => void {
  const opened = new Map<ServerHttp2Session, number>();

  function onCreated(message: unknown): void {
    const { stream } = message as { stream: ServerHttp2Stream };
    const session = stream.session as ServerHttp2Session;
    if (opened.size === 0) {
      setImmediate(() => opened.clear());
    }
    const count = (opened.get(session) ?? 0) + 1;
    opened.set(session, count);
    if (count > maxPerTurn) {
      report(session.socket.remoteAddress ?? "");
      // The stream is destroyed before any other listener hears of it.
      stream.on("error", () => {});
      session.destroy(new Error("too many streams at once"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
  }

  subscribe(channel, onCreated);
  return () => unsubscribe(channel, onCreated);
}
