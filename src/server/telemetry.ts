import { type EventEmitter, once } from "node:events";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { Writable } from "node:stream";
import { type DestinationStream, type Logger, pino } from "pino";
import manifest from "../../package.json" with { type: "json" };
import { maskCredentials } from "../domain/masking.ts";
import { isPostgresUrl } from "../domain/store.ts";
import { Observability } from "../observability/observability.ts";
import { startTracing, type Tracing } from "../observability/tracing.ts";
import { throttle } from "../scheduling/timing.ts";
import { apiServices } from "./api.ts";
import type { LogLevel, ServerConfig } from "./config.ts";
import type { ServerLife } from "./server-life.ts";
import { toolServices } from "./tool-services.ts";

/** What a server tells operators. */
export interface Telemetry {
  readonly logger: Logger;
  /** The level of `logger`. */
  readonly level: AdjustableLevel;
  readonly observability: Observability;
  /** Undefined where the environment asks for no tracing. */
  readonly tracing: Tracing | undefined;
  /** Logs why a port could not accept a connection. */
  readonly reportAcceptError: (reason: Error) => void;
}

/** Starts the log, the metrics and the traces. They are closed after everything that they observe. */
export async function startTelemetry(config: ServerConfig, life: ServerLife): Promise<Telemetry> {
  const { resources, grace } = life;
  const { version } = manifest;
  const logger = await createLogger(config.logLevel);
  const tracing = await startTracing({ env: process.env, version, logger });
  resources.defer(() => tracing?.close(grace.leftMs));
  const services = [...apiServices, ...toolServices];
  const observability = new Observability({
    version,
    db: shownStore(config.db),
    services,
    logger,
    tracing,
    clock: () => life.clock(),
  });
  resources.defer(() => observability.close());
  const reportAcceptError = throttle((reason: Error) =>
    logger.error({ err: reason }, "a connection could not be accepted"),
  );
  return { logger, level: new AdjustableLevel(logger, config.logLevel), observability, tracing, reportAcceptError };
}

/** Where the store is, as anybody may read it: the whole path of a file, or the URL of a database without its password. */
function shownStore(db: string): string {
  const shown = maskCredentials(db);
  return isPostgresUrl(db) ? shown : resolve(shown);
}

/** The level of a logger, which can be switched to `debug` and back. */
export class AdjustableLevel {
  readonly #logger: Logger;
  #level: LogLevel;
  /** The level to return to from `debug`. */
  #quiet: LogLevel = "info";

  /** `level` is the one that the logger has. */
  constructor(logger: Logger, level: LogLevel) {
    this.#logger = logger;
    this.#level = level;
    this.set(level);
  }

  get(): LogLevel {
    return this.#level;
  }

  set(level: LogLevel): void {
    if (level !== "debug") {
      this.#quiet = level;
    }
    this.#level = level;
    this.#logger.level = level;
  }

  /** Switches to `debug`, or back to the level before it, which is `info` if there was none. */
  switchDebug(): void {
    this.set(this.get() === "debug" ? this.#quiet : "debug");
  }
}

/** Where a port is reached, such as `http://127.0.0.1:8080`. */
export function portUrl(scheme: string, host: string, { port }: AddressInfo): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** How many bytes may wait for a reader that takes none of them. Further lines are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;

/**
 * Logs to stderr: JSON lines, or text for people on a terminal. Lines are written asynchronously, so that the event
 * loop never waits for a reader. Those that are left at the end of the process are written then.
 */
async function createLogger(level: LogLevel): Promise<Logger> {
  const isTerminal = process.stderr.isTTY === true;
  const stderr = pino.destination({ fd: 2, sync: isTerminal, maxLength: maxWaitingBytes });
  // A log that cannot be written, on a full disk or without a reader, must not end the server. Nor must it keep the
  // server from ending: the stream would try to flush for ever.
  stderr.on("error", () => {
    stderr.flushSync = () => {};
  });
  return pino({ level }, isTerminal ? await createTerminalStream(stderr) : stderr);
}

/** Turns lines into text, in colours if the terminal has them and `NO_COLOR` does not forbid them. */
async function createTerminalStream(stderr: DestinationStream): Promise<Writable> {
  const { createTerminalFormat } = await import("./terminal-log.ts");
  const format = createTerminalFormat({ colour: process.stderr.hasColors() });
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      stderr.write(format(line));
      done();
    },
  });
}

/**
 * Resolves when the lines that have just been logged are written. Never resolves on a terminal, where lines are written
 * at once.
 */
export async function written(logger: Logger): Promise<void> {
  await once((logger as unknown as Record<symbol, EventEmitter>)[pino.symbols.streamSym] as EventEmitter, "drain");
}
