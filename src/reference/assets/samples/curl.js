// @ts-check
import { authorization, joinLines, quote, quoteIfNeeded } from "./shell.js";

/**
 * The call by curl. `--json` (curl 7.82) sends the body with its media type.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeCurl({ method, url, headers, body }) {
  return joinLines([
    `curl ${quoteIfNeeded(url)}`,
    ...(method === "GET" ? [] : [`-X ${method}`]),
    authorization,
    ...headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--json ${quote(body)}`]),
  ]);
}
