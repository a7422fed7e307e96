// @ts-check
import { authorization, headerOptions, joinLines, quote, quoteIfNeeded } from "./shell.js";

/**
 * The call by curl. `--json` (curl 7.82) sends the body with its media type; `-N` shows what comes at once.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeCurl({ method, url, headers, body, isStream }) {
  return joinLines([
    `curl ${isStream ? "-N " : ""}${quoteIfNeeded(url)}`,
    ...(method === "GET" ? [] : [`-X ${method}`]),
    authorization,
    ...headerOptions(headers),
    ...(body === undefined ? [] : [`--json ${quote(body)}`]),
  ]);
}
