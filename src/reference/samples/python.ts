import { keyVariable, type SampleCall } from "./call.ts";

/** The call by Python's own library. */
export function writePython({ method, url, body }: SampleCall): string {
  return [
    "import json",
    "import os",
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    "${url}",`,
    `    method="${method}",`,
    "    headers={",
    `        "Authorization": f"Bearer {os.environ['${keyVariable}']}",`,
    ...(body === undefined ? [] : [`        "Content-Type": "application/json",`]),
    "    },",
    ...(body === undefined ? [] : [`    data=b'${body}',`]),
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    print(json.load(response))",
  ].join("\n");
}
