// @ts-check
import { acceptLines, keyVariable } from "./call.js";

/**
 * The call by Python's standard library, which keeps all digits of integers.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writePython({ method, url, headers, body, isStream }) {
  return [
    "import json",
    "import os",
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    "    headers={",
    `        "Authorization": f"Bearer {os.environ['${keyVariable}']}",`,
    ...(isStream ? [acceptLines, ...headers] : headers).map(
      ([name, value]) => `        ${JSON.stringify(name)}: ${writeText(value)},`,
    ),
    ...(body === undefined ? [] : [`        "Content-Type": "application/json",`]),
    "    },",
    ...(body === undefined ? [] : [`    data=${writeText(body)}.encode(),`]),
    ")",
    "with urllib.request.urlopen(request) as response:",
    ...(isStream
      ? ["    for line in response:", "        if line.strip():", "            print(json.loads(line), flush=True)"]
      : ["    print(json.load(response))"]),
  ].join("\n");
}

/**
 * A string in single quotes if it needs no escapes. The escapes of JSON are valid in Python.
 *
 * @param {string} text
 */
function writeText(text) {
  return /^[^'\\\p{C}]*$/u.test(text) ? `'${text}'` : JSON.stringify(text);
}
