import { keyVariable, type SampleCall } from "./call.ts";

/** The call by Go's own library, as a whole program. */
export function writeGo({ method, url, body }: SampleCall): string {
  const imports = ["fmt", "io", "log", "net/http", "os", ...(body === undefined ? [] : ["strings"])];
  return [
    "package main",
    "",
    "import (",
    ...imports.map((name) => `\t"${name}"`),
    ")",
    "",
    "func main() {",
    `\trequest, err := http.NewRequest("${method}", "${url}", ${bodyReader(body)})`,
    ...failure,
    `\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("${keyVariable}"))`,
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

const failure = ["\tif err != nil {", "\t\tlog.Fatal(err)", "\t}"];

function bodyReader(body: string | undefined): string {
  return body === undefined ? "nil" : `strings.NewReader(\`${body}\`)`;
}
