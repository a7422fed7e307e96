import { NoAnswer } from "../key/api.js";
import { EventParser } from "./event-parser.js";

/** A connection that is silent for as long as three heartbeats is lost, in milliseconds. */
const longestSilenceMs = 45_000;

/** The waits before a lost connection is opened again: the first, and the longest, in milliseconds. */
const [firstWaitMs, longestWaitMs] = [1_000, 30_000];

/**
 * Watches a stream of Server-Sent Events. When the connection is lost, it is opened again after the last event.
 *
 * `open` takes the id of the last event, undefined at first, and a signal, and resolves to the `Response` when its
 * headers have come; it throws `NoAnswer`. The listener is told:
 * - `connecting()` when a connection is being opened,
 * - `opened(response)` when it is open,
 * - `told(event)` of each event, `heard()` of each heartbeat,
 * - `lost(waitMs)` when the connection is lost, and opened again after this wait,
 * - `ended(end)` when the stream is over: with `answer`, which refuses it or says why it ends, and `isRefusal`; or with
 *   `silence`, a text, where the service does not answer at all.
 */
export class Watching {
  #open;
  #listener;
  #stopping = new AbortController();
  #lastEventId;
  #hasOpened = false;
  /** How many connections in a row were lost before they were open. */
  #failures = 0;

  constructor(open, listener) {
    this.#open = open;
    this.#listener = listener;
  }

  /** Ends the connection. The listener is told nothing more. */
  stop() {
    this.#stopping.abort();
  }

  /** Resolves when the stream is over, or has been stopped. */
  async run() {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#listener.connecting();
      const { lost, retryMs, ...end } = await this.#connect();
      if (signal.aborted) {
        return;
      }
      if (!lost) {
        this.#listener.ended(end);
        return;
      }
      const waitMs = retryMs ?? this.#nextWaitMs();
      this.#listener.lost(waitMs);
      await pause(waitMs, signal);
    }
  }

  /** Opens a connection, and reads it to its end. Resolves to how it ended. */
  async #connect() {
    const silence = new AbortController();
    let timer;
    const hear = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), longestSilenceMs);
    };
    try {
      hear();
      const signal = AbortSignal.any([this.#stopping.signal, silence.signal]);
      const response = await this.#open(this.#lastEventId, signal);
      return response.status === 200 ? await this.#read(response, hear) : await this.#refusalOf(response);
    } catch (reason) {
      if (!(reason instanceof NoAnswer)) {
        throw reason;
      }
      return this.#hasOpened ? { lost: true } : { silence: reason.message };
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  async #read(response, hear) {
    this.#hasOpened = true;
    this.#failures = 0;
    this.#listener.opened(response);
    const parser = new EventParser();
    for await (const text of textsOf(response.body)) {
      hear();
      for (const block of parser.read(text)) {
        this.#lastEventId = block.id ?? this.#lastEventId;
        if (block.type === "error") {
          return block.retryMs === undefined ? endOf(block.data) : { lost: true, retryMs: block.retryMs };
        }
        if (block.data === undefined) {
          this.#listener.heard();
        } else {
          this.#listener.told(block);
        }
      }
    }
    return { lost: true };
  }

  /** A stream that was open is opened again when the service fails, but not when it refuses. */
  async #refusalOf(response) {
    const { status } = response;
    if (this.#hasOpened && status >= 500) {
      await response.body?.cancel();
      return { lost: true };
    }
    const text = await response.text().catch(() => "");
    return { isRefusal: true, answer: { status, headers: Object.fromEntries(response.headers), text } };
  }

  /** Doubles with each failure. Up to a half is left out at random, so that not all readers come at once. */
  #nextWaitMs() {
    const doubledMs = Math.min(firstWaitMs * 2 ** this.#failures, longestWaitMs);
    this.#failures += 1;
    return Math.round(doubledMs * (1 - Math.random() / 2));
  }
}

function endOf(text = "") {
  const [, status = "500"] = /"status":\s*(\d+)/.exec(text) ?? [];
  return { answer: { status: Number(status), headers: {}, text } };
}

/** The text of a body as it comes. Throws `NoAnswer` when the connection breaks. */
async function* textsOf(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw new NoAnswer("The connection was lost.");
      });
      if (done) {
        return;
      }
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
