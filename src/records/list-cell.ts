// An empty cell is the empty list, so a list of one empty text needs a sign of its own.
const oneEmptyText = "\\";

// A character that would be read as an escape or as a separator.
const ambiguous = /\\(?=[\\;]|$)|;/g;
// An escaped character, a separator, a run of plain characters, or a backslash that escapes nothing.
const token = /\\([\\;])|;|[^\\;]+|\\/g;

/**
 * Reads a list from one CSV cell: elements separated by `;`. `\;` is a semicolon and `\\` a backslash; a backslash
 * before anything else stands for itself. An empty cell is the empty list; a lone `\` is a list of one empty text.
 */
export function parseListCell(cell: string): string[] {
  if (cell === "") {
    return [];
  }
  if (cell === oneEmptyText) {
    return [""];
  }
  if (!cell.includes("\\")) {
    return cell.split(";");
  }
  return splitEscaped(cell);
}

/** The inverse of `parseListCell`. Only characters that would be misread are escaped. */
export function formatListCell(list: readonly string[]): string {
  if (list.length === 1 && list[0] === "") {
    return oneEmptyText;
  }
  return list.map((text) => text.replace(ambiguous, "\\$&")).join(";");
}

function splitEscaped(cell: string): string[] {
  const elements: string[] = [];
  let current = "";
  for (const [text, escaped] of cell.matchAll(token)) {
    if (text === ";") {
      elements.push(current);
      current = "";
    } else {
      current += escaped ?? text;
    }
  }
  return [...elements, current];
}
