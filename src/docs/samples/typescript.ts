import { keyVariable, type SampleCall } from "./call.ts";

/** The call by `fetch`, as Node runs it. */
export function writeTypeScript({ method, url, body }: SampleCall): string {
  const options = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    "  headers: {",
    `    Authorization: \`Bearer \${process.env.${keyVariable}}\`,`,
    ...(body === undefined ? [] : [`    "Content-Type": "application/json",`]),
    "  },",
    ...(body === undefined ? [] : [`  body: JSON.stringify(${body}),`]),
  ];
  return [
    `const response = await fetch("${url}", {`,
    ...options,
    "});",
    "if (!response.ok) {",
    "  throw new Error(await response.text());",
    "}",
    "console.log(await response.json());",
  ].join("\n");
}
