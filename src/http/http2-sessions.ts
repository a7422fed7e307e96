import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { keepSessionUntilStreamsFreed } from "./node-faults/http2-gc-order.ts";
import { clearSessionTimer } from "./node-faults/http2-timeouts.ts";

/** How long a connection may be silent, in milliseconds: as long as one of HTTP/1.1. */
const idleMs = 65_000;

/** How long a client may leave the connection open after its GOAWAY, in milliseconds. */
const goAwayMs = 5_000;

/** The open sessions of an HTTP/2 server, with how many streams each has open. */
export class Http2Sessions {
  readonly #streams = new Map<ServerHttp2Session, number>();

  /** Takes a new session, and closes it when it is idle, or some time after its client has said GOAWAY. */
  add(session: ServerHttp2Session): void {
    this.#streams.set(session, 0);
    keepSessionUntilStreamsFreed(session);
    let goAway: NodeJS.Timeout | undefined;
    session.on("close", () => {
      this.#streams.delete(session);
      // Either timer would keep the session in memory until it fires.
      clearTimeout(goAway);
      clearSessionTimer(session);
    });
    session.setTimeout(idleMs, () => (this.#streams.get(session) === 0 ? session.destroy() : session.close()));
    session.once("goaway", () => {
      goAway = setTimeout(() => session.destroy(), goAwayMs).unref();
    });
  }

  /** Counts a new stream of its session until it closes. Returns how many the session has open, with this one. */
  count(stream: ServerHttp2Stream): number {
    const session = stream.session as ServerHttp2Session | undefined;
    if (session === undefined) {
      return 0;
    }
    const open = (this.#streams.get(session) ?? 0) + 1;
    this.#streams.set(session, open);
    stream.on("close", () => {
      const open = this.#streams.get(session);
      if (open !== undefined) {
        this.#streams.set(session, open - 1);
      }
    });
    return open;
  }

  /** Tells all clients to open no further streams. */
  close(): void {
    for (const session of this.#streams.keys()) {
      session.close();
    }
  }

  /** Ends all connections. */
  destroy(): void {
    for (const session of this.#streams.keys()) {
      session.destroy();
    }
  }
}
