const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The lines of indented JSON. Its numbers are not read, so that 64-bit integers keep all of their digits. */
export function* jsonLines(text) {
  let depth = 0;
  let line = "";
  let isOpened = false;
  for (const [part] of text.matchAll(token)) {
    const isClosing = part === "}" || part === "]";
    depth -= isClosing ? 1 : 0;
    // What is empty stays on its line.
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
