import { type AddressInfo, isIPv6 } from "node:net";
import manifest from "../../package.json" with { type: "json" };
import { mayHoldSecret } from "../domain/key-secret.ts";
import { createClientAddress } from "../http/client-address.ts";
import type { Exchange } from "../http/exchange.ts";
import { listen } from "../http/listener.ts";
import { createRequestIdReader } from "../http/request-id.ts";
import { AdjustableLevel } from "../observability/log-level.ts";
import { Observability } from "../observability/observability.ts";
import { startTracing, type Tracing } from "../observability/tracing.ts";
import { createAnonymousRateLimiter } from "../rate-limit/anonymous-rate-limiter.ts";
import { createKeyRateLimiter } from "../rate-limit/key-rate-limiter.ts";
import { createSite } from "../reference/site.ts";
import { settlesWithin } from "../scheduling/settles-within.ts";
import { throttle } from "../scheduling/throttle.ts";
import { healthService } from "../services/health.ts";
import { watchExternalChanges } from "../storage/external-changes.ts";
import { createKeyCache } from "../storage/key-cache.ts";
import { acquireServerLock } from "../storage/sqlite/server-lock.ts";
import { openSqliteStore } from "../storage/sqlite/store.ts";
import { apiServices, createApi } from "./api.ts";
import type { ServerConfig } from "./config.ts";
import { createConnectServices, toolServices } from "./connect-services.ts";
import { createCors } from "./cors.ts";
import { createHealthCalls } from "./health-calls.ts";
import { createLogger, written } from "./logger.ts";
import { createOpsPages } from "./ops-pages.ts";
import { serveOps } from "./ops-server.ts";
import { respondToParseError } from "./parse-error.ts";
import { createRouter } from "./router.ts";
import { ShutdownGrace } from "./shutdown-grace.ts";

/** How long past the grace the last answers may take to leave, and the last counts to be saved, in milliseconds. */
const lastSaveMs = 3_000;

/** How long the last line of the log may take, in milliseconds. */
const lastLineMs = 1_000;

/** What fails again and again is logged once in so many milliseconds. */
const failureReportMs = 10_000;

/** A server that takes requests. */
export interface RunningServer {
  /** Where the API is, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Where the operator's port is. */
  readonly opsUrl: string;
  /** Aborted when the server cannot go on. The log tells why. */
  readonly broken: AbortSignal;
  /** Logs that it has started, once whoever waits for the server has been told. */
  logStart(): void;
  /** Loads what the first calls would wait for. */
  warmUp(): Promise<unknown>;
  /** Logs at `debug`, or no longer. */
  switchDebug(): void;
  /** Logs that a signal ends the process, though calls are running. */
  abandon(signal: string): void;
  /**
   * Lets running calls finish, and gives back all that is held. Resolves to false when the disk does not let it: a
   * thread waits for it then, and will for nobody knows how long.
   */
  stop(): Promise<boolean>;
}

/**
 * Starts a server, and resolves when it takes requests. Throws `StoreHeldError` when another one serves the store,
 * `StoreFileError`, and the system's errors; nothing is held then.
 */
export async function startServer(config: ServerConfig): Promise<RunningServer> {
  await using held = new AsyncDisposableStack();
  const clock = Date.now;
  const logger = createLogger(config.logLevel);
  const tracing = await startTracing({ env: process.env, version: manifest.version, logger });
  const grace = new ShutdownGrace(config.shutdownGraceMs);
  held.defer(() => tracing?.close(grace.leftMs));
  const observability = new Observability({
    version: manifest.version,
    db: config.db,
    services: [...apiServices, ...toolServices],
    logger,
    tracing,
    clock,
  });
  held.defer(() => observability.close());
  const level = new AdjustableLevel(logger);
  const stopping = new AbortController();
  const broken = new AbortController();

  const lock = acquireServerLock(config.db);
  held.defer(() => lock.release());
  const store = openSqliteStore(config.db, {
    committed: observability.store.committed,
    ended(error) {
      logger.fatal({ err: error }, "the server ends: its writing thread has");
      broken.abort();
    },
  });
  held.defer(() => store.close());
  const keyLimiter = createKeyRateLimiter({
    store,
    clock,
    report: throttle(failureReportMs, (reason) =>
      logger.error({ err: reason }, "the counters could not be saved, and will be tried again"),
    ),
  });
  held.defer(() => keyLimiter.close());
  const anonymousLimiter = createAnonymousRateLimiter(clock);
  const limiter = observability.watchLimiter({
    decideForKey: (key) => keyLimiter.decide(key),
    decideAnonymous: (address) => anonymousLimiter.decide(address),
    describeKey: (key) => keyLimiter.describe(key),
  });

  const externalChanges = watchExternalChanges(store);
  held.defer(() => externalChanges.close());
  const keys = createKeyCache(store, externalChanges);
  const api = createApi({
    ...config,
    store,
    externalChanges,
    keys,
    limiter,
    clock,
    logger,
    noteDeprecatedCall: (key, method) => keyLimiter.noteDeprecatedCall(key, method),
  });
  observability.watchStore(store);
  observability.watchList(api.listCache);
  const clientAddress = createClientAddress(config.trustedProxies);
  const readRequestId = createRequestIdReader(mayHoldSecret);
  const { observer } = observability;
  const reportAcceptError = throttle(failureReportMs, (reason: Error) =>
    logger.error({ err: reason }, "a connection could not be accepted"),
  );
  const health = healthService({
    serviceNames: apiServices.map(({ typeName }) => typeName),
    stopping: stopping.signal,
  });
  const nodeHandler = createConnectServices({
    ...config,
    services: apiServices,
    health,
    stopping: stopping.signal,
    clientAddress,
    readRequestId,
    observer,
    tracing,
  });
  const ownUrl = () => urlOf(config.tls === undefined ? "http" : "https", config.host, listener.address);
  const listener = await listen({
    ...config,
    clientAddress,
    readRequestId,
    handle: traced(
      tracing,
      createRouter({
        api,
        health: createHealthCalls(health, api.toError),
        site: createSite({ baseUrls: config.baseUrls, services: apiServices, ownOrigin: ownUrl }),
        cors: createCors(config.corsOrigins),
        limiter,
        logger,
        observer,
      }),
    ),
    nodeHandler,
    reportAcceptError,
    reportBurst: throttle(failureReportMs, (peerAddress) =>
      logger.warn({ peerAddress }, "a connection was ended: it began too many calls at once"),
    ),
    handleParseError: (error, socket) => respondToParseError(error, socket, { limiter, observer }),
  });
  held.defer(() => listener.close(grace.leftMs));
  const addresses = () => ({ url: ownUrl(), opsUrl: urlOf("http", config.opsHost, ops.address) });
  const ops = await serveOps({
    host: config.opsHost,
    port: config.opsPort,
    pages: createOpsPages({ observability, level, isReady: () => !stopping.signal.aborted, addresses }),
    report: (reason) => logger.error({ err: reason }, "a page of the operator's port failed"),
    reportAcceptError,
  });

  const resources = held.move();
  const { url, opsUrl } = addresses();
  return {
    url,
    opsUrl,
    broken: broken.signal,
    logStart: () => logger.info({ url, opsUrl, db: config.db }, "the server has started"),
    warmUp: () => api.prepare(),
    switchDebug: () => level.switchDebug(),
    abandon: (signal) => logger.warn({ signal }, "the server ends at once, with calls that were running"),
    async stop() {
      grace.start();
      stopping.abort();
      const isDone = await settlesWithin(grace.leftMs + lastSaveMs, resources.disposeAsync());
      // To the last, it tells that the server is not ready.
      ops.close();
      if (isDone) {
        logger.info("the server has stopped");
      } else {
        logger.fatal(
          "the server ends, though its disk has not answered: the last counts are lost, and perhaps updates",
        );
        // The process is to be killed, with the lines that are not yet written.
        await settlesWithin(lastLineMs, written(logger));
      }
      return isDone;
    },
  };
}

type Handler = (exchange: Exchange) => Promise<void>;

/** Without tracing a request takes the way that it always took. */
function traced(tracing: Tracing | undefined, handle: Handler): Handler {
  return tracing === undefined ? handle : (exchange) => tracing.run(exchange, () => handle(exchange));
}

function urlOf(scheme: string, host: string, { port }: AddressInfo): string {
  return `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
