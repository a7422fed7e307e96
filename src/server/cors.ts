import type { Exchange } from "../http/exchange.ts";

/** Headers of answers that pages of other origins may read. */
const exposedHeaders = [
  "Deprecation",
  "Link",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "Sunset",
  "WWW-Authenticate",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "Grpc-Status",
  "Grpc-Message",
  "Grpc-Status-Details-Bin",
];

/** How long a browser may remember a preflight's answer, in seconds: two hours, which is the most that Chromium takes. */
const maxAgeSeconds = 7_200;

/** Lets pages of some origins call the API. Source: https://fetch.spec.whatwg.org/#http-cors-protocol */
export interface Cors {
  /** Puts on the answer what lets the page read it, where its origin may. */
  allow(exchange: Exchange): void;
  /** Whether the request is a preflight from an origin that may call. */
  isPreflight(exchange: Exchange): boolean;
  /** The headers that answer a preflight, beside those that `allow` puts on. */
  preflightHeaders(exchange: Exchange): [name: string, value: string][];
}

/** `origins` are such as `https://app.example.com`; none switches CORS off. */
export function createCors(origins: readonly string[]): Cors {
  function allowedOrigin(exchange: Exchange): string | undefined {
    const origin = exchange.header("origin");
    return origin !== undefined && origins.includes(origin) ? origin : undefined;
  }
  return {
    allow(exchange) {
      if (origins.length === 0) {
        return;
      }
      exchange.addHeader("vary", "Origin");
      const origin = allowedOrigin(exchange);
      if (origin !== undefined) {
        exchange.addHeader("access-control-allow-origin", origin);
        exchange.addHeader("access-control-expose-headers", exposedHeaders.join(", "));
      }
    },
    isPreflight(exchange) {
      const isAsked = exchange.header("access-control-request-method") !== undefined;
      return exchange.method === "OPTIONS" && isAsked && allowedOrigin(exchange) !== undefined;
    },
    preflightHeaders(exchange) {
      return [
        ["access-control-allow-methods", "GET, HEAD, POST, PATCH"],
        ["access-control-allow-headers", exchange.header("access-control-request-headers") ?? "*"],
        ["access-control-max-age", String(maxAgeSeconds)],
      ];
    },
  };
}
