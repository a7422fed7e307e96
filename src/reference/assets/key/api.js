import { parseWindows } from "./limits.js";

/** A request that got no answer. Its message is for people. */
export class NoAnswer extends Error {}

/**
 * The API for the page: the reader's key, and the key's limits from the latest answers. Dispatches `change` when any of
 * them changes.
 */
export class Api extends EventTarget {
  /** The base URL, ending in `/v1`. */
  baseUrl;
  /** The key in use, which the service has accepted. */
  key;
  plan;
  windows;
  /** When the key is admitted again, in milliseconds since the Unix epoch. */
  pausedUntilMs = 0;

  constructor(baseUrl) {
    super();
    this.baseUrl = baseUrl;
  }

  /** Selects another server. Forgets the key, which is for the former server. */
  useServer(baseUrl) {
    this.baseUrl = baseUrl;
    this.forget();
  }

  use({ key, plan, windows, pausedUntilMs = 0 }) {
    Object.assign(this, { key, plan, windows, pausedUntilMs });
    this.#changed();
  }

  forget() {
    this.use({});
  }

  /** The seconds until the key may be used again; 0 when it may be used now. */
  get pausedSeconds() {
    return Math.max(0, Math.ceil((this.pausedUntilMs - Date.now()) / 1_000));
  }

  /** Sends a request with the key in use, and updates its limits. Throws `NoAnswer`. */
  async send(request) {
    const { key } = this;
    const answer = await sendRequest(request, key);
    if (key === this.key) {
      this.#learn(answer);
    }
    return answer;
  }

  /**
   * Opens a stream with the key in use, and updates its limits. Resolves to the `Response` when its headers have come.
   * Throws `NoAnswer`.
   */
  async open(request, signal) {
    const { key } = this;
    const response = await startRequest(request, key, signal);
    if (key === this.key) {
      this.#learn({ status: response.status, headers: Object.fromEntries(response.headers) });
    }
    return response;
  }

  #learn({ status, headers }) {
    this.windows = parseWindows(headers, Date.now()) ?? this.windows;
    const seconds = Number.parseInt(headers["retry-after"], 10);
    if (status === 429 && seconds >= 0) {
      this.pausedUntilMs = Date.now() + seconds * 1_000;
    }
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/** Sends a request with a key. The body is returned as text, because parsing would lose digits. Throws `NoAnswer`. */
export async function sendRequest(request, key) {
  const startedAtMs = performance.now();
  const response = await startRequest(request, key);
  const text = await response.text().catch(() => {
    throw new NoAnswer(explainSilence(request.url));
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text,
    durationMs: performance.now() - startedAtMs,
  };
}

/** Sends a request with a key. Resolves to the `Response` when its headers have come. Throws `NoAnswer`. */
async function startRequest({ method, url, headers = [], body }, key, signal) {
  const authorization = key === undefined ? [] : [["Authorization", `Bearer ${key}`]];
  const mediaType = body === undefined ? [] : [["Content-Type", "application/json"]];
  const sent = [...headers, ...mediaType, ...authorization];
  const request = createRequest(url, { method, headers: sent, body, signal, cache: "no-store", credentials: "omit" });
  try {
    return await fetch(request);
  } catch {
    throw new NoAnswer(explainSilence(url));
  }
}

/** Throws `NoAnswer` for a header with a character that HTTP has not. */
function createRequest(url, options) {
  try {
    return new Request(url, options);
  } catch {
    throw new NoAnswer("Nothing was sent: a header has a character that HTTP does not allow, such as a curly quote.");
  }
}

/** A browser does not say why a request failed. */
function explainSilence(url) {
  const { origin } = new URL(url);
  return origin === location.origin
    ? `The server at ${origin} did not answer. Check that it is running, and that you are online.`
    : `The server at ${origin} did not answer this page. Either it is not reachable, or it does not allow calls from ${location.origin} (CORS).`;
}
