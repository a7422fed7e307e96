// @ts-check
import { acceptLines, keyVariable } from "./call.js";

const failure = ["\tif err != nil {", "\t\tlog.Fatal(err)", "\t}"];

/** Prints the answer. */
const readAll = {
  packages: ["io"],
  lines: ["\tanswer, err := io.ReadAll(response.Body)", ...failure, "\tfmt.Println(response.Status, string(answer))"],
};

/** Prints each line of the answer as it comes. */
const readLines = {
  packages: ["bufio"],
  lines: [
    "\tfmt.Println(response.Status)",
    "\tlines := bufio.NewScanner(response.Body)",
    "\tfor lines.Scan() {",
    '\t\tif lines.Text() != "" {',
    "\t\t\tfmt.Println(lines.Text())",
    "\t\t}",
    "\t}",
    "\tif err := lines.Err(); err != nil {",
    "\t\tlog.Fatal(err)",
    "\t}",
  ],
};

/**
 * The call by Go's own library, as a whole program.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeGo({ method, url, headers, body, isStream }) {
  const reading = isStream ? readLines : readAll;
  const packages = [...reading.packages, "fmt", "log", "net/http", "os", ...(body === undefined ? [] : ["strings"])];
  return [
    "package main",
    "",
    "import (",
    ...packages.toSorted().map((name) => `\t"${name}"`),
    ")",
    "",
    "func main() {",
    `\trequest, err := http.NewRequest("${method}", ${JSON.stringify(url)}, ${bodyReader(body)})`,
    ...failure,
    `\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("${keyVariable}"))`,
    ...(isStream ? [acceptLines, ...headers] : headers).map(
      ([name, value]) => `\trequest.Header.Set(${JSON.stringify(name)}, ${writeText(value)})`,
    ),
    ...(body === undefined ? [] : [`\trequest.Header.Set("Content-Type", "application/json")`]),
    "",
    "\tresponse, err := http.DefaultClient.Do(request)",
    ...failure,
    "\tdefer response.Body.Close()",
    ...reading.lines,
    "}",
  ].join("\n");
}

/** @param {string | undefined} body */
function bodyReader(body) {
  return body === undefined ? "nil" : `strings.NewReader(${writeText(body)})`;
}

/**
 * A raw string if possible. The escapes of JSON are valid in Go, which refuses a byte order mark within a file.
 *
 * @param {string} text
 */
function writeText(text) {
  return /[`\r\ufeff]/.test(text) ? JSON.stringify(text).replaceAll("\ufeff", "\\ufeff") : `\`${text}\``;
}
