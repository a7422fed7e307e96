import type { Logger } from "pino";
import type { EndedCall } from "./call-observer.ts";

/** A call whose headers may name the trace that it belongs to. */
export interface TracedCall extends EndedCall {
  readonly method: string;
  /** A request header, by its lower-case name. */
  header(name: string): string | undefined;
}

/** How tracing is set up. */
export interface TracingOptions {
  /** The environment, with OpenTelemetry's standard variables. */
  readonly env: NodeJS.ProcessEnv;
  /** The service's version, which traces carry. */
  readonly version: string;
  readonly logger: Logger;
}

/** Makes a span of each call. */
export interface Tracing {
  /** Does the work of a call within a span, which is a child of the caller's and ends with the work. */
  run(call: TracedCall, work: () => Promise<void>): Promise<void>;
  /** The id of the current trace. */
  traceId(): string | undefined;
  /** Sends the spans that are left. Resolves after `timeoutMs` at the latest. */
  close(timeoutMs: number): Promise<void>;
}

/**
 * Starts tracing if the standard variables ask for it: `OTEL_TRACES_EXPORTER`, or an endpoint for OTLP. Otherwise
 * returns undefined, and loads nothing of OpenTelemetry. Also returns undefined, and logs why, if it cannot be set up.
 *
 * Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export async function startTracing({ env, version, logger }: TracingOptions): Promise<Tracing | undefined> {
  if (!isAskedFor(env)) {
    return undefined;
  }
  const { createTracing } = await import("./call-span.ts");
  try {
    return createTracing({ env, version, logger });
  } catch (error) {
    // Only the code is logged: the message may hold the collector's address, with a password in it.
    const { code } = error as NodeJS.ErrnoException;
    logger.error({ code }, "tracing: the settings in the OTEL_ variables cannot be used; there will be no traces");
    return undefined;
  }
}

function isAskedFor(env: NodeJS.ProcessEnv): boolean {
  const exporters = env.OTEL_TRACES_EXPORTER || undefined;
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT || undefined;
  const isDisabled = env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || exporters === "none";
  return !isDisabled && (exporters ?? endpoint) !== undefined;
}
