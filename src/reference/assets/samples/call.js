// @ts-check
import { createMessage } from "./message.js";

/**
 * An operation, as far as code samples need it.
 *
 * @typedef {object} CallableOperation
 * @property {string} method
 * @property {string} path Relative to the base URL, such as `/inventory/{petId}`.
 * @property {readonly CallParameter[]} parameters
 * @property {string} [bodyField] The field of the request message that the body fills, or `*` for all of them; absent
 *   without a body.
 * @property {string} rpc The path of the RPC, such as `petstore.v1.InventoryService/UpdateInventory`.
 * @property {import("./message.js").MessageShape} request
 * @property {string} result The first field of the answer's message.
 * @property {boolean} isPaged Whether the answer is one page of a list.
 * @property {boolean} isStream Whether the answer is a stream of Server-Sent Events, or of lines of JSON.
 */

/**
 * @typedef {object} CallParameter
 * @property {string} name
 * @property {"path" | "query" | "header"} in
 * @property {string} [field] The field of the request message that a header carries.
 * @property {boolean} [isMetadata] Whether a header is sent with RPCs, too.
 */

/**
 * The reader's input: the values of each parameter by name, and the JSON text of the body.
 *
 * @typedef {object} CallInput
 * @property {Readonly<Record<string, readonly string[]>>} values
 * @property {string} [body]
 */

/**
 * One call of an operation, as the code samples show it.
 *
 * @typedef {object} SampleCall
 * @property {string} method
 * @property {string} baseUrl
 * @property {string} url The URL over REST.
 * @property {{ name: string, message: string }} [pathFault] A parameter that the path lacks, and why; absent for none.
 * @property {readonly (readonly [name: string, value: string])[]} headers Without the key and the media type.
 * @property {string} [body] The JSON text of the body over REST; absent without a body.
 * @property {string} rpc
 * @property {readonly (readonly [name: string, value: string])[]} metadata The headers that RPCs have, too.
 * @property {import("./message.js").SampleMessage} message
 * @property {string} result
 * @property {boolean} isPaged
 * @property {boolean} isStream
 */

/** The header that asks for a stream as lines of JSON, which are the easiest to read without a library. */
export const acceptLines = /** @type {const} */ (["Accept", "application/x-ndjson"]);

/** The environment variable from which every sample takes the API key. */
export const keyVariable = "PETSTORE_API_KEY";

/**
 * @param {CallableOperation} operation
 * @param {CallInput} input
 * @param {string} baseUrl
 * @returns {SampleCall}
 */
export function createCall(operation, input, baseUrl) {
  const { method, rpc, result, isPaged, isStream, bodyField } = operation;
  const pathFault = findPathFault(operation, input);
  return {
    method,
    baseUrl,
    url: baseUrl + writePath(operation, input) + writeQuery(operation, input),
    ...(pathFault !== undefined && { pathFault }),
    headers: enteredHeaders(operation, input),
    ...(bodyField !== undefined && { body: input.body ?? "" }),
    rpc,
    metadata: enteredHeaders(
      { ...operation, parameters: operation.parameters.filter(({ isMetadata }) => isMetadata === true) },
      input,
    ),
    message: createMessage(operation, input),
    result,
    isPaged,
    isStream,
  };
}

/**
 * @param {CallableOperation} operation
 * @param {CallInput} input
 */
function writePath({ path }, { values }) {
  return path.replace(/\{([\w.]+)\}/g, (whole, name) => {
    const value = values[name]?.[0] ?? "";
    return describePathFault(value) === undefined ? encodeURIComponent(wellFormed(value)) : whole;
  });
}

/**
 * A text as a form has it: half of a surrogate pair, which `encodeURIComponent` refuses, becomes U+FFFD.
 *
 * @param {string} text
 */
function wellFormed(text) {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/**
 * @param {CallableOperation} operation
 * @param {CallInput} input
 */
function findPathFault({ parameters }, { values }) {
  for (const { name } of parameters.filter((parameter) => parameter.in === "path")) {
    const fault = describePathFault(values[name]?.[0] ?? "");
    if (fault !== undefined) {
      return { name, message: `${name} ${fault}` };
    }
  }
  return undefined;
}

/**
 * Why a path cannot have a value; undefined where it can. Encoding does not help: to a browser, `%2e` is a dot, too.
 *
 * Source: https://url.spec.whatwg.org/#double-dot-path-segment
 *
 * @param {string} value
 */
function describePathFault(value) {
  if (value === "") {
    return "is needed: it is part of the path.";
  }
  return value === "." || value === ".." ? "must not be . or ..: the browser would send another path." : undefined;
}

/**
 * @param {CallableOperation} operation
 * @param {CallInput} input
 */
function writeQuery(operation, input) {
  const pairs = entered(operation, input, "query").flatMap(([name, values]) => values.map((value) => [name, value]));
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
}

/**
 * @param {CallableOperation} operation
 * @param {CallInput} input
 */
function enteredHeaders(operation, input) {
  return entered(operation, input, "header").flatMap(([name, values]) =>
    values.map((value) => /** @type {const} */ ([name, value])),
  );
}

/**
 * The parameters of a place that have values.
 *
 * @param {CallableOperation} operation
 * @param {CallInput} input
 * @param {CallParameter["in"]} place
 * @returns {[name: string, values: readonly string[]][]}
 */
function entered({ parameters }, { values }, place) {
  return parameters
    .filter((parameter) => parameter.in === place)
    .map(({ name }) => [name, (values[name] ?? []).filter((value) => value !== "")]);
}
