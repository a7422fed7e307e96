import type { OpenApiDocument } from "../openapi/view.ts";

const ofLimits = /RateLimit|^Retry-After$/;

/**
 * The headers by which a refusal tells of the limits, as a Markdown table; all others but the last are on every answer.
 */
export function limitHeaderTable({ components }: OpenApiDocument): string {
  const names = Object.keys(components.responses.TooManyRequests?.headers ?? {}).filter((name) => ofLimits.test(name));
  const rows = names.map((name) => `| \`${name}\` | ${components.headers[name]?.description} |`);
  return ["| Header | Meaning |", "| --- | --- |", ...rows].join("\n");
}
