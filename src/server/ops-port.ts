import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, BlockList, isIPv6 } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { Store } from "../domain/store.ts";
import { hostOf } from "../http/target.ts";
import type { Observability } from "../observability/observability.ts";
import { limitsAwayText, type Readiness, storeAwayText } from "../observability/status.ts";
import type { Backend } from "./backend.ts";
import { isLogLevel, logLevels, type ServerConfig } from "./config.ts";
import type { ServerLife } from "./server-life.ts";
import { type AdjustableLevel, portUrl, type Telemetry } from "./telemetry.ts";

/**
 * Opens the operator's port, whose status says that the API is at `url`. The caller closes it, after everything that
 * the life's stack releases.
 */
export async function openOpsPort(
  config: ServerConfig,
  life: ServerLife,
  telemetry: Telemetry,
  { backend, url }: { readonly backend: Backend; readonly url: string },
): Promise<OpsServer> {
  const { logger, level, observability, reportAcceptError } = telemetry;
  const ops: OpsServer = await serveOps({
    host: config.opsHost,
    port: config.opsPort,
    pages: createOpsPages({
      observability,
      level,
      ...backend,
      stopping: life.stopping,
      addresses: () => ({ url, opsUrl: portUrl("http", config.opsHost, ops.address) }),
    }),
    report: (reason) => logger.error({ err: reason }, "a page of the operator's port failed"),
    reportAcceptError,
  });
  return ops;
}

/** What the operator's pages show and set. */
interface OpsPagesOptions extends ReadinessOptions {
  readonly observability: Observability;
  readonly level: AdjustableLevel;
  readonly addresses: () => { readonly url: string; readonly opsUrl: string };
}

/**
 * The pages of the operator's port: `/healthz` answers 200 while the process lives. `/readyz` answers 200 while the
 * server takes requests, its store answers and its limits can be counted, and 503 otherwise. `/metrics` is for
 * Prometheus, `/status` for people's tools. `/log-level` shows and sets the level of the log.
 */
function createOpsPages(options: OpsPagesOptions): Record<string, OpsPage> {
  const { observability, level, addresses } = options;
  const askReadiness = createReadiness(options);
  observability.watchReadiness(askReadiness);
  return {
    "/healthz": { GET: () => plain(200, "ok") },
    "/readyz": {
      async GET() {
        const readiness = await askReadiness();
        return plain(readiness === "ready" ? 200 : 503, readiness);
      },
    },
    "/metrics": {
      GET: async () => ({ status: 200, ...(await observability.readMetrics()) }),
    },
    "/status": {
      async GET() {
        const status = await observability.status({ addresses: addresses(), readiness: await askReadiness() });
        return { status: 200, type: "application/json", body: `${JSON.stringify(status)}\n` };
      },
    },
    "/log-level": { GET: () => plain(200, level.get()), PUT: (body) => setLogLevel(level, body.trim()) },
  };
}

function setLogLevel(level: AdjustableLevel, name: string) {
  if (!isLogLevel(name)) {
    return plain(400, `use one of ${logLevels.join(", ")}`);
  }
  level.set(name);
  return plain(200, name);
}

/** The answer of a page of the operator's port. */
interface OpsAnswer {
  readonly status: number;
  /** `text/plain` by default. */
  readonly type?: string;
  /** The methods that the page takes, if the request's is not one of them. */
  readonly allow?: string;
  readonly body: string;
}

/** A handler for each method that a page takes; `HEAD` goes to `GET`. `body` is the request's. */
type OpsPage = Readonly<Partial<Record<"GET" | "PUT", (body: string) => OpsAnswer | Promise<OpsAnswer>>>>;

/** Where the operator's port listens, and its pages. */
interface OpsOptions {
  readonly host: string;
  readonly port: number;
  /** By path. */
  readonly pages: Readonly<Record<string, OpsPage>>;
  /** Is told why a page has failed. */
  readonly report: (reason: unknown) => void;
  /** Is told why a connection could not be accepted. */
  readonly reportAcceptError: (reason: Error) => void;
}

/** The operator's port, open. */
interface OpsServer {
  readonly address: AddressInfo;
  close(): void;
}

/** Serves the operator's port, which never serves the API. Rejects when it cannot listen. */
async function serveOps({ host, port, pages, report, reportAcceptError }: OpsOptions): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const answered = isRebound(request, { address: address.address, host })
      ? Promise.resolve(notHere)
      : answer(request, pages);
    void answered
      .catch((reason: unknown) => {
        report(reason);
        return plain(500, "failed");
      })
      .then(({ status, type = "text/plain; charset=utf-8", allow, body }) => {
        // The unread rest of a body would be parsed as the next request.
        const connection = request.complete ? {} : { connection: "close" };
        const allowed = allow === undefined ? {} : { allow };
        response.writeHead(status, { "content-type": type, "cache-control": "no-store", ...allowed, ...connection });
        response.end(request.method === "HEAD" ? undefined : body);
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(void server.off("error", reject)));
  });
  server.on("error", reportAcceptError);
  const address = server.address() as AddressInfo;
  return {
    address,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** An answer of one line of text. */
function plain(status: number, line: string): OpsAnswer {
  return { status, body: `${line}\n` };
}

const notHere = plain(403, "ask for 127.0.0.1, [::1] or localhost, or have --ops-host name another address");

/**
 * Whether a request names another host than the port's, while the port is reached from this machine only. Then it may
 * come from a page in a browser whose host name now resolves to this machine (DNS rebinding).
 */
function isRebound({ headers }: IncomingMessage, { address, host }: { address: string; host: string }): boolean {
  if (headers.host === undefined || !isLoopback(address)) {
    return false;
  }
  const asked = hostOf(headers.host);
  return !["localhost", host.toLowerCase()].includes(asked) && !isLoopback(asked);
}

async function answer(request: IncomingMessage, pages: OpsOptions["pages"]): Promise<OpsAnswer> {
  const [path = ""] = (request.url ?? "").split("?");
  if (!Object.hasOwn(pages, path)) {
    return plain(404, "not found");
  }
  const page = pages[path] as OpsPage;
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
  if (!Object.hasOwn(page, method)) {
    const methods = Object.keys(page);
    const allow = ["HEAD", ...methods].toSorted().join(", ");
    return { ...plain(405, `use ${methods.join(" or ")}`), allow };
  }
  // Commands send no Origin. A page in a browser does, even after DNS rebinding.
  if (method === "PUT" && request.headers.origin !== undefined) {
    return plain(403, "not from a browser");
  }
  const body = await readShort(request);
  return body === undefined
    ? plain(413, `send ${maxBodyBytes} bytes at most`)
    : (page[method as keyof OpsPage] as (body: string) => OpsAnswer)(body);
}

/** The largest body that is read, in bytes. The longest valid one is the name of a log level. */
const maxBodyBytes = 1024;

/** Reads a short body. Returns undefined for a longer one, and reads no more of it. */
async function readShort(request: IncomingMessage): Promise<string | undefined> {
  let body = "";
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > maxBodyBytes) {
      return undefined;
    }
  }
  return body;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** Whether a text is an address that is reached from this machine only. */
export function isLoopback(address: string): boolean {
  return loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** How long a probe waits for the store, in milliseconds. By default Kubernetes gives up a probe after a second. */
const probeMs = 500;

/** How often the store is asked, in milliseconds. So a probe knows of a silence that began before it. */
const intervalMs = 1_000;

/**
 * How long the store may be silent before the server is not ready, in milliseconds. While a command such as an import
 * has locked the store, updates wait up to five seconds, and reads go on. A server that is not ready would get no reads
 * either.
 */
const patienceMs = 6_000;

/** What readiness depends on. */
interface ReadinessOptions {
  readonly store: Pick<Store, "ready">;
  /** Whether requests can be counted, by Valkey or by this server alone. */
  readonly canCountLimits: () => boolean;
  readonly stopping: AbortSignal;
}

/**
 * Tells whether the server is ready. It asks the store one question at a time. A probe that cannot wait for the answer
 * hears whether the store has been silent for too long. The store comes before the limits: where both are away, the
 * store is named.
 */
export function createReadiness({ store, canCountLimits, stopping }: ReadinessOptions): () => Promise<Readiness> {
  let answeredAtMs = performance.now();
  let asking: Promise<Readiness> | undefined;

  function afterSilence(): Readiness {
    return performance.now() - answeredAtMs > patienceMs ? storeAwayText : "ready";
  }
  async function ask(): Promise<Readiness> {
    const askedAtMs = performance.now();
    try {
      await store.ready(AbortSignal.timeout(patienceMs));
      answeredAtMs = performance.now();
      return "ready";
    } catch {
      // A store that is locked refuses, too, but later.
      return performance.now() - askedAtMs < probeMs ? storeAwayText : afterSilence();
    } finally {
      asking = undefined;
    }
  }

  const timer = setInterval(() => {
    asking ??= ask();
  }, intervalMs).unref();
  stopping.addEventListener("abort", () => clearInterval(timer));
  return async () => {
    if (stopping.aborted) {
      return "stopping";
    }
    asking ??= ask();
    const late = setTimeout(probeMs, undefined, { ref: false }).then(afterSilence);
    const readiness = await Promise.race([asking, late]);
    return readiness === "ready" && !canCountLimits() ? limitsAwayText : readiness;
  };
}
