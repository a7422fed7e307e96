import type { Logger } from "pino";
import type { EndedCall } from "./call-observer.ts";

/** A call that can tell of the trace that it belongs to. */
export interface TracedCall extends EndedCall {
  readonly method: string;
  readonly path: string;
  /** A request header, by its lower-case name. */
  header(name: string): string | undefined;
}

/** What tracing is set up with. */
export interface TracingOptions {
  /** The environment, with OpenTelemetry's standard variables. */
  readonly env: NodeJS.ProcessEnv;
  /** The service's version, which traces tell. */
  readonly version: string;
  readonly logger: Logger;
}

/** Makes a span of each call. */
export interface Tracing {
  /** Does the work of a call within its span, a child of the caller's, which ends when the work does. */
  run(call: TracedCall, work: () => Promise<void>): Promise<void>;
  /** The id of the trace that is under way here. */
  traceId(): string | undefined;
  /** Sends what has not been sent, and resolves; when nobody takes it, after `timeoutMs` at most. */
  close(timeoutMs: number): Promise<void>;
}

/**
 * Starts tracing where the standard variables ask for it: `OTEL_TRACES_EXPORTER`, or an endpoint for OTLP. Undefined
 * otherwise, when nothing of OpenTelemetry is loaded; and where it cannot be set up, which the log tells.
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
    // All else that the error has may be the address of the collector, with the password in it.
    const { code } = error as NodeJS.ErrnoException;
    logger.error({ code }, "tracing: it cannot be set up as the OTEL_ variables say, and there will be no traces");
    return undefined;
  }
}

function isAskedFor(env: NodeJS.ProcessEnv): boolean {
  const exporters = env.OTEL_TRACES_EXPORTER || undefined;
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT || undefined;
  const isDisabled = env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || exporters === "none";
  return !isDisabled && (exporters ?? endpoint) !== undefined;
}
