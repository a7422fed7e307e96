// @ts-check
import { keyVariable } from "./call.js";

const failure = ["\tif err != nil {", "\t\tlog.Fatal(err)", "\t}"];

/**
 * The call by Go's own library, as a whole program.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeGo({ method, url, headers, body }) {
  const imports = ["fmt", "io", "log", "net/http", "os", ...(body === undefined ? [] : ["strings"])];
  return [
    "package main",
    "",
    "import (",
    ...imports.map((name) => `\t"${name}"`),
    ")",
    "",
    "func main() {",
    `\trequest, err := http.NewRequest("${method}", ${JSON.stringify(url)}, ${bodyReader(body)})`,
    ...failure,
    `\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("${keyVariable}"))`,
    ...headers.map(([name, value]) => `\trequest.Header.Set(${JSON.stringify(name)}, ${writeText(value)})`),
    ...(body === undefined ? [] : [`\trequest.Header.Set("Content-Type", "application/json")`]),
    "",
    "\tresponse, err := http.DefaultClient.Do(request)",
    ...failure,
    "\tdefer response.Body.Close()",
    "\tanswer, err := io.ReadAll(response.Body)",
    ...failure,
    "\tfmt.Println(response.Status, string(answer))",
    "}",
  ].join("\n");
}

/** @param {string | undefined} body */
function bodyReader(body) {
  return body === undefined ? "nil" : `strings.NewReader(${writeText(body)})`;
}

/**
 * A raw string if possible. The escapes of JSON are valid in Go.
 *
 * @param {string} text
 */
function writeText(text) {
  return /[`\r]/.test(text) ? JSON.stringify(text) : `\`${text}\``;
}
