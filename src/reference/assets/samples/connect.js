// @ts-check
import { authorization, headerOptions, joinLines, quote } from "./shell.js";

/**
 * The call of an RPC over Connect by curl: a POST of JSON.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeConnectPost({ baseUrl, rpc, metadata, message }) {
  return joinLines([
    `curl ${new URL(baseUrl).origin}/${rpc}`,
    authorization,
    ...headerOptions(metadata),
    `--json ${quote(message.json)}`,
  ]);
}

/**
 * The call of an RPC without side effects over Connect by curl: a GET.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeConnectGet({ baseUrl, rpc, message }) {
  const query = `connect=v1&encoding=json&message=${encodeURIComponent(message.json)}`;
  return joinLines([`curl ${quote(`${new URL(baseUrl).origin}/${rpc}?${query}`)}`, authorization]);
}
