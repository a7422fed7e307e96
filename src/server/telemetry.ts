import { type AddressInfo, isIPv6 } from "node:net";
import manifest from "../../package.json" with { type: "json" };
import { maskCredentials } from "../domain/masking.ts";
import { AdjustableLevel } from "../observability/log-level.ts";
import { Observability } from "../observability/observability.ts";
import { startTracing, type Tracing } from "../observability/tracing.ts";
import { throttle } from "../scheduling/timing.ts";
import { apiServices } from "./api.ts";
import type { ServerConfig } from "./config.ts";
import { toolServices } from "./connect-services.ts";
import { createLogger, type Logger } from "./logger.ts";
import type { ServerLife } from "./server-life.ts";

/** How often a failure that repeats is logged at most, in milliseconds. */
export const failureReportMs = 10_000;

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

/** Starts the log, the metrics and the traces. They are closed after all that they tell of. */
export async function startTelemetry(config: ServerConfig, { clock, held, grace }: ServerLife): Promise<Telemetry> {
  const { version } = manifest;
  const logger = await createLogger(config.logLevel);
  const tracing = await startTracing({ env: process.env, version, logger });
  held.defer(() => tracing?.close(grace.leftMs));
  const services = [...apiServices, ...toolServices];
  const observability = new Observability({
    version,
    db: maskCredentials(config.db),
    services,
    logger,
    tracing,
    clock,
  });
  held.defer(() => observability.close());
  const reportAcceptError = throttle(failureReportMs, (reason: Error) =>
    logger.error({ err: reason }, "a connection could not be accepted"),
  );
  return { logger, level: new AdjustableLevel(logger), observability, tracing, reportAcceptError };
}

/** Where a port is reached, such as `http://127.0.0.1:8080`. */
export function portUrl(scheme: string, host: string, { port }: AddressInfo): string {
  return `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
