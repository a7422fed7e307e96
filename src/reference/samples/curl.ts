import { keyVariable, type SampleCall } from "./call.ts";

/** The call by curl. `--json` (curl 7.82) sends the body with its media type. */
export function writeCurl({ method, url, body }: SampleCall): string {
  const parts = [
    `curl ${url}`,
    ...(method === "GET" ? [] : [`-X ${method}`]),
    `-H "Authorization: Bearer $${keyVariable}"`,
    ...(body === undefined ? [] : [`--json '${body}'`]),
  ];
  return parts.join(" \\\n  ");
}
