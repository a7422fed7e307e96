import type { DescMethod } from "@bufbuild/protobuf";
import type { Operation } from "../../gen/petstore/options/v1/options_pb.ts";
import { deprecationHeaders } from "../../src/interceptors/deprecation.ts";
import { headerOf } from "../../src/interceptors/operation.ts";
import { fieldExample } from "./examples.ts";
import { describeField } from "./rules.ts";
import type { Header, Reference, Response } from "./types.ts";

const json = "application/json";

/** Response headers that are described once, for all operations. */
export const headerComponents = {
  "X-RateLimit-Limit": number("The limit of the window that has the fewest requests remaining.", 1, 60),
  "X-RateLimit-Remaining": number("How many requests remain in that window.", 0, 59),
  "X-RateLimit-Reset": number("When that window ends, in Unix seconds.", 0, 1_780_272_060),
  "RateLimit-Policy": text("The limits: of each window its quota `q`, and its length `w` in seconds.", {
    pattern: '^"\\w+";q=\\d+;w=\\d+(, "\\w+";q=\\d+;w=\\d+)*$',
    example: '"minute";q=60;w=60, "day";q=1000;w=86400',
  }),
  RateLimit: text("Of each window the requests that remain `r`, and the seconds until it ends `t`.", {
    pattern: '^"\\w+";r=\\d+;t=\\d+(, "\\w+";r=\\d+;t=\\d+)*$',
    example: '"minute";r=59;t=60, "day";r=999;t=86400',
  }),
  "X-Request-Id": text(
    "The name of the request: that of its own `X-Request-Id`, or a new one. Quote it when you ask for help.",
    {
      pattern: "^[A-Za-z0-9._-]{1,128}$",
      example: "kX3vQ9bTz1Lw-1f4",
    },
  ),
  "Retry-After": number("How many seconds to wait: whoever waits as long is admitted.", 1, 42),
  "WWW-Authenticate": text("How to authenticate, and what is wrong with the key that was sent (RFC 6750).", {
    pattern: '^Bearer realm="[^"]*"(, error="\\w+")?$',
    example: 'Bearer realm="petstore"',
  }),
  Allow: text("The methods that the path takes.", { pattern: "^[A-Z]+(, [A-Z]+)*$", example: "GET, HEAD, OPTIONS" }),
  Accept: optional(text("The media type of bodies, where the one that was sent is refused.", { example: json })),
  "Accept-Patch": optional(text("The media type of the bodies of PATCH.", { example: json })),
  "Accept-Encoding": optional(
    text("The coding of bodies, where the one that was sent is refused.", { example: "identity" }),
  ),
  ETag: text("The version of the answer. Send it back in `If-None-Match`.", {
    pattern: '^(W/)?"[^"]*"$',
    example: '"1-42"',
  }),
  "Cache-Control": text("Who may keep the answer, and that it is asked for each time.", {
    example: "private, no-cache",
  }),
  Location: text("The path of what was created (RFC 9110, 10.2.2).", {
    format: "uri-reference",
    example: "/v1/holds/hold_V1StGXR8Z5jdHi6B",
  }),
  NextLink: optional(
    text('Where the next page is, with `rel="next"` (RFC 8288). It is left out on the last page.', {
      pattern: '^<[^>]*>; rel="next"$',
      example: '<https://api.example.com/v1/inventory?pageSize=100&pageToken=abc>; rel="next"',
    }),
  ),
  "Content-Encoding": optional(
    text("How the body is compressed, where the request's `Accept-Encoding` asks for it.", {
      enum: ["br", "gzip"],
      example: "br",
    }),
  ),
  "Idempotency-Replayed": optional(
    text("`true` where the answer is that of an earlier request with the same `Idempotency-Key`.", {
      const: "true",
      example: "true",
    }),
  ),
  Vary: optional(text("What else of the request the answer depends on.", { example: "Accept-Encoding" })),
} as const satisfies Record<string, Header>;

export type HeaderComponent = keyof typeof headerComponents;

type Headers = Response["headers"];

/** On every answer, whatever its outcome. */
export const commonHeaders = refer(
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit-Policy",
  "RateLimit",
  "X-Request-Id",
);

/** On the answer of a stream: nobody caches it, and no proxy buffers it. */
export const streamHeaders: Headers = {
  "Cache-Control": constant("Nobody may keep the answer.", "no-store"),
  "X-Accel-Buffering": constant("Asks proxies to pass each event on at once.", "no"),
};

/** The header with the time to wait. `codes` are the codes of the same status without this header. */
export function retryAfterUnless(codes: readonly string[]): Headers {
  if (codes.length === 0) {
    return refer("Retry-After");
  }
  const { description, ...header } = headerComponents["Retry-After"];
  const without = codes.map((code) => `\`${code}\``).join(", ");
  return { "Retry-After": optional({ ...header, description: `${description} Left out with ${without}.` }) };
}

/** References to headers, by their names. */
export function refer(...names: readonly HeaderComponent[]): Headers {
  const entries = names.map((name): [string, Reference] => [
    name === "NextLink" ? "Link" : name,
    { $ref: `#/components/headers/${name}` },
  ]);
  return Object.fromEntries(entries);
}

/** The headers that carry fields of an answer. */
export function fieldHeadersOf({ output }: DescMethod): Headers {
  const headers = output.fields.flatMap((field): [string, Header][] => {
    const name = headerOf(field);
    return name === undefined
      ? []
      : [[name, text(describeField(field), { example: String(fieldExample(field)), minLength: 1 })]];
  });
  return Object.fromEntries(headers);
}

/** The deprecation headers of a method's answers, with their constant values. None for other methods. */
export function deprecationOf(method: DescMethod, { deprecation }: Operation): Headers {
  if (deprecation === undefined) {
    return {};
  }
  const { Deprecation, Sunset, Link } = deprecationHeaders(method, deprecation);
  return {
    Deprecation: constant("Since when the operation is deprecated, in Unix seconds (RFC 9745).", Deprecation),
    Sunset: constant("When the operation may end (RFC 8594).", Sunset),
    Link: constant("Where to read of the deprecation.", Link),
  };
}

function number(description: string, minimum: number, example: number): Header {
  return { description, required: true, schema: { type: "integer", minimum }, example };
}

function text(description: string, { example, ...keywords }: { example: string } & Record<string, unknown>): Header {
  return { description, required: true, schema: { type: "string", ...keywords }, example };
}

function constant(description: string, value: string): Header {
  return text(description, { const: value, example: value });
}

function optional(header: Header): Header {
  return { ...header, required: false };
}
