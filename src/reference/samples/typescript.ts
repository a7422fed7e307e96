import { keyVariable, type SampleCall } from "./call.ts";

/** The call by `fetch`, as Node runs it. */
export function writeTypeScript({ method, url, body }: SampleCall): string {
  const options = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    "  headers: {",
    `    Authorization: \`Bearer \${process.env.${keyVariable}}\`,`,
    ...(body === undefined ? [] : [`    "Content-Type": "application/json",`]),
    "  },",
    ...(body === undefined ? [] : [`  body: JSON.stringify(${writeLiteral(JSON.parse(body))}),`]),
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

/** A JSON value as people write it in TypeScript: names that need no quotes have none. */
function writeLiteral(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(writeLiteral).join(", ")}]`;
  }
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).map(([name, member]) => `${writeName(name)}: ${writeLiteral(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function writeName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}
