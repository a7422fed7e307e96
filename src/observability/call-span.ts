import { METHODS } from "node:http";
import {
  type Attributes,
  context,
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  trace,
} from "@opentelemetry/api";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import { NodeSDK } from "@opentelemetry/sdk-node";
import type { Logger } from "pino";
import { maskCredentials, shownPath } from "../domain/masking.ts";
import { outcomeOf } from "./call-observer.ts";
import type { TracedCall, Tracing, TracingOptions } from "./tracing.ts";

/** The service's name in traces, unless the environment gives another. */
const serviceName = "petstore";

/** The HTTP methods that a span may name. Clients could make up any number of others. */
const knownMethods: ReadonlySet<string> = new Set(METHODS);

/** Reads the headers that propagators ask for: `traceparent`, `tracestate` and `baggage`, or others. */
const headers: TextMapGetter<TracedCall> = {
  get: (call, name) => call.header(name.toLowerCase()),
  keys: () => [],
};

/**
 * Starts OpenTelemetry's SDK, which reads its settings from the environment, and makes spans of calls. Throws what the
 * SDK throws for an environment that it cannot use.
 */
export function createTracing({ env, version, logger }: TracingOptions): Tracing {
  // With this variable the SDK would replace our logger by one that writes to stdout, and masks nothing.
  delete env.OTEL_LOG_LEVEL;
  diag.setLogger(diagLoggerOf(logger), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  // The SDK lets the environment override this.
  const own = resourceFromAttributes({ "service.name": serviceName, "service.version": version });
  // Metrics go to Prometheus, and logs to stderr.
  const sdk = new NodeSDK({ resource: defaultResource().merge(own), metricReaders: [], logRecordProcessors: [] });
  sdk.start();
  const tracer = trace.getTracer(serviceName);

  return {
    run(call, work) {
      // Calls that wait for the same turn run in the context of whichever came first.
      const parent = propagation.extract(ROOT_CONTEXT, call, headers);
      const span = tracer.startSpan("call", { kind: SpanKind.SERVER }, parent);
      return context.with(trace.setSpan(parent, span), work).finally(() => endSpan(span, call));
    },
    traceId: () => trace.getActiveSpan()?.spanContext().traceId,
    async close(timeoutMs) {
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(
        () => reject(new Error(`the collector did not take them within ${timeoutMs} ms`)),
        timeoutMs,
      );
      try {
        await Promise.race([sdk.shutdown(), late]);
      } catch (error) {
        logger.warn({ err: error }, "the last traces are lost");
      }
      clearTimeout(timer);
    },
  };
}

/**
 * Names a span and sets its attributes when its call has ended, as they are known only then.
 *
 * Source: https://opentelemetry.io/docs/specs/semconv/rpc/rpc-spans/,
 * https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 */
function endSpan(span: Span, call: TracedCall): void {
  const { record } = call;
  const { code, isFailure } = outcomeOf(record);
  span.updateName(record.method ?? (knownMethods.has(call.method) ? call.method : "HTTP"));
  span.setAttributes(attributesOf(call, code));
  if (isFailure) {
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

function attributesOf({ record, method, path, requestId, clientAddress }: TracedCall, code: string): Attributes {
  const [service, rpc] = record.method?.split("/") ?? [];
  return {
    ...(rpc !== undefined && { "rpc.system": record.protocol, "rpc.service": service, "rpc.method": rpc }),
    ...(code !== "OK" && { "error.type": code }),
    ...(record.keyId !== undefined && { "petstore.key_id": record.keyId }),
    "petstore.request_id": requestId,
    "client.address": clientAddress,
    "http.request.method": knownMethods.has(method) ? method : "_OTHER",
    "url.path": shownPath(path),
    "http.response.status_code": record.status,
    "http.request.body.size": record.requestBytes,
    "http.response.body.size": record.responseBytes,
  };
}

function diagLoggerOf(logger: Logger) {
  const tell =
    (level: "warn" | "error") =>
    (message: string, ...details: unknown[]) => {
      const err = parseError(message);
      const text = err?.message ?? maskCredentials(message);
      logger[level]({ err, details: details.length > 0 ? details.map(masked) : undefined }, `tracing: ${text}`);
    };
  const ignore = () => {};
  return { error: tell("error"), warn: tell("warn"), info: ignore, debug: ignore, verbose: ignore };
}

/** Messages of the SDK may hold the collector's address, with a password in it. */
function masked(detail: unknown): unknown {
  return typeof detail === "string" ? maskCredentials(detail) : detail;
}

/** The SDK logs errors as JSON, with inherited properties. Returns undefined for other messages. */
function parseError(message: string): Error | undefined {
  if (!message.startsWith("{")) {
    return undefined;
  }
  const told = JSON.parse(message, (_name, value) => masked(value)) as Record<string, string>;
  const { message: text, name, stack, code } = told;
  return Object.assign(new Error(text), { name, stack, ...(code !== undefined && { code }) });
}
