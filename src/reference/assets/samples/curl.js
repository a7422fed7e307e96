// @ts-check
import { authorization, headerOptions, joinLines, quote, quoteIfNeeded } from "./shell.js";

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
    ...headerOptions(headers),
    ...(body === undefined ? [] : [`--json ${quote(body)}`]),
  ]);
}
