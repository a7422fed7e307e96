const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Indents JSON without reading its numbers, so that 64-bit integers keep all of their digits. */
export function formatJson(text) {
  let depth = 0;
  let json = "";
  const newLine = () => `\n${"  ".repeat(depth)}`;
  const tokens = text.match(token) ?? [];
  for (const [i, part] of tokens.entries()) {
    if (part === "{" || part === "[") {
      depth += 1;
      const isEmpty = tokens[i + 1] === "}" || tokens[i + 1] === "]";
      json += isEmpty ? part : part + newLine();
    } else if (part === "}" || part === "]") {
      depth -= 1;
      const isEmpty = tokens[i - 1] === "{" || tokens[i - 1] === "[";
      json += isEmpty ? part : newLine() + part;
    } else if (part === ",") {
      json += part + newLine();
    } else {
      json += part === ":" ? ": " : part;
    }
  }
  return json;
}
