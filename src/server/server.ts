import { maskCredentials } from "../domain/masking.ts";
import { isPostgresUrl } from "../domain/store.ts";
import { settlesWithin } from "../scheduling/timing.ts";
import { openApiPort } from "./api-port.ts";
import { type BackendOptions, openBackend } from "./backend.ts";
import type { ServerConfig } from "./config.ts";
import { openOpsPort } from "./ops-port.ts";
import { ServerLife } from "./server-life.ts";
import { portUrl, startTelemetry, type Telemetry, written } from "./telemetry.ts";
import { startWebhooks } from "./webhooks.ts";

export { UnusableValkeyError } from "../rate-limit/rate-limiters.ts";

/** How long the last answers and the last counters may take past the grace, in milliseconds. */
const lastSaveMs = 3_000;

/** How long the last line of the log may take, in milliseconds. */
const lastLineMs = 1_000;

/**
 * How a server has stopped: everything is released, or the store has not answered in time. For a disk a thread waits
 * without any limit, so that the process has to be killed.
 */
type StopOutcome = "released" | "database silent" | "disk silent";

/** A server that takes requests. */
export interface RunningServer {
  /** Where the API is, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Where the operator's port is. */
  readonly opsUrl: string;
  /** Aborts when the server cannot go on. The log tells why. */
  readonly broken: AbortSignal;
  /** Logs that the server has started. Call it after the line on stdout that says so. */
  logStart(): void;
  /** Loads what the first calls would wait for, and the first scrape. */
  warmUp(): Promise<void>;
  /** Switches logging at `debug` on or off. */
  switchDebug(): void;
  /** Logs that a signal ends the process, although calls are running. */
  abandon(signal: string): void;
  /** Lets running calls finish, and releases all that is held. */
  stop(): Promise<StopOutcome>;
}

/**
 * Starts a server, and resolves when it takes requests. Throws `StoreHeldError` when another server has the store,
 * `StoreFileError` or `DatabaseError`, `UnusableValkeyError` if `limits` names a server that cannot be used, and the
 * system's errors. Nothing is held then.
 */
export async function startServer(config: ServerConfig, options: BackendOptions = {}): Promise<RunningServer> {
  const life = new ServerLife(config.shutdownGraceMs);
  await using start = life.resources;
  const telemetry = await startTelemetry(config, life);
  const backend = await openBackend(config, life, telemetry, options);
  const api = await openApiPort(config, life, telemetry, backend);
  startWebhooks(config, life, telemetry, backend);
  const ops = await openOpsPort(config, life, telemetry, { backend, url: api.url });
  const resources = start.move();

  const { logger, level } = telemetry;
  const { url } = api;
  const opsUrl = portUrl("http", config.opsHost, ops.address);
  return {
    url,
    opsUrl,
    broken: life.broken,
    logStart() {
      const db = maskCredentials(config.db);
      logger.info({ url, opsUrl, db }, "the server has started");
      if (backend.isNewStore) {
        logger.info({ db }, "the store is new: there was none at this place");
      }
    },
    async warmUp() {
      await api.prepare();
      await telemetry.observability.prepare();
    },
    switchDebug: () => level.switchDebug(),
    abandon: (signal) => logger.warn({ signal }, "the server exits at once, without waiting for running calls"),
    async stop() {
      life.stop();
      const isReleased = await settlesWithin(life.grace.leftMs + lastSaveMs, resources.disposeAsync());
      // Until now it has told that the server is not ready.
      ops.close();
      const silent = isPostgresUrl(config.db) ? "database silent" : "disk silent";
      const outcome = isReleased ? "released" : silent;
      await logStop(telemetry, outcome);
      return outcome;
    },
  };
}

async function logStop({ logger }: Telemetry, outcome: StopOutcome): Promise<void> {
  switch (outcome) {
    case "released":
      logger.info("the server has stopped");
      break;
    case "database silent":
      logger.fatal("the server exits, although its database does not answer: the last counters may be lost");
      break;
    case "disk silent":
      logger.fatal(
        "the server exits, although its disk does not respond: the last counters, and perhaps updates, are lost",
      );
      // The process is killed next, and with it the lines that are not yet written.
      await settlesWithin(lastLineMs, written(logger));
  }
}
