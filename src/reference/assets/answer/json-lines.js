const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The lines of indented JSON. Numbers are not parsed, so that 64-bit integers keep all digits. */
export function* jsonLines(text) {
  let depth = 0;
  let line = "";
  let isOpened = false;
  for (const [part] of text.matchAll(token)) {
    const isClosing = part === "}" || part === "]";
    depth -= isClosing ? 1 : 0;
    // An empty object or array stays on one line.
    if (isOpened !== isClosing) {
      yield line;
      line = "  ".repeat(depth);
    }
    line += part === ":" ? ": " : part;
    isOpened = part === "{" || part === "[";
    depth += isOpened ? 1 : 0;
    if (part === ",") {
      yield line;
      line = "  ".repeat(depth);
    }
  }
  yield line;
}
