import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";

/** The headers of answers that pages of other origins may read. */
const exposedHeaders = [
  "Deprecation",
  "ETag",
  "Idempotency-Replayed",
  "Link",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "Sunset",
  "WWW-Authenticate",
  "X-Inventory-Cursor",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-Id",
  "Grpc-Status",
  "Grpc-Message",
  "Grpc-Status-Details-Bin",
];

/** All methods that pages may ask for. The API says which of them a path has. */
const allowedMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * How long a browser may cache a preflight's answer, in seconds: two hours, the most that Chromium allows.
 */
const maxAgeSeconds = 7_200;

/** Lets pages of some origins call the API. Source: https://fetch.spec.whatwg.org/#http-cors-protocol */
export interface Cors {
  /** Adds the headers that let a page of an allowed origin read the answer. */
  allow(exchange: Exchange): void;
  /** Whether the request is a preflight from an allowed origin. */
  isPreflight(exchange: Exchange): boolean;
  /** The answer to a preflight, without the headers that `allow` adds. */
  preflightAnswer(exchange: Exchange): Answer;
}

/** `origins` are such as `https://app.example.com`. Returns undefined if there are none: then CORS is off. */
export function createCors(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) {
    return undefined;
  }
  function allowedOrigin(exchange: Exchange): string | undefined {
    const origin = exchange.header("origin");
    return origin !== undefined && origins.includes(origin) ? origin : undefined;
  }
  return {
    allow(exchange) {
      exchange.addHeader("vary", "Origin");
      const origin = allowedOrigin(exchange);
      if (origin !== undefined) {
        exchange.addHeader("access-control-allow-origin", origin);
        exchange.addHeader("access-control-expose-headers", exposedHeaders.join(", "));
      }
    },
    isPreflight(exchange) {
      if (exchange.method !== "OPTIONS" || exchange.header("access-control-request-method") === undefined) {
        return false;
      }
      return allowedOrigin(exchange) !== undefined;
    },
    preflightAnswer(exchange) {
      const header = new HeaderList();
      header.set("access-control-allow-methods", allowedMethods.join(", "));
      header.set("access-control-allow-headers", exchange.header("access-control-request-headers") ?? "*");
      header.set("access-control-max-age", String(maxAgeSeconds));
      header.set("vary", "Access-Control-Request-Headers");
      return { status: 204, header };
    },
  };
}
