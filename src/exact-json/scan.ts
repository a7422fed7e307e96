/** What is known of a JSON text before it is parsed. For other texts it means nothing. */
export interface JsonScan {
  /** How deep arrays and objects nest, up to one more than the limit. */
  readonly depth: number;
  /** Whether a double holds every number exactly as written: all are integers of 15 digits at most. */
  readonly hasPlainNumbers: boolean;
}

/** Scans a text once, without recursion. It stops where the text nests deeper than `maxDepth`. */
export function scanJson(text: string, maxDepth: number): JsonScan {
  let depth = 0;
  let deepest = 0;
  let digits = 0;
  let hasPlainNumbers = true;
  for (let index = 0; index < text.length && deepest <= maxDepth; index++) {
    const code = text.charCodeAt(index);
    if (code >= zero && code <= nine) {
      // A leading zero is a number by itself. A double does not hold `-0` as written.
      digits += code === zero && digits === 0 && text.charCodeAt(index - 1) === minus ? maxPlainDigits + 1 : 1;
      hasPlainNumbers &&= digits <= maxPlainDigits;
      continue;
    }
    hasPlainNumbers &&= digits === 0 || !isNumberPart(code);
    digits = 0;
    if (code === quote) {
      index = stringEnd(text, index);
    } else if (code === openBracket || code === openBrace) {
      depth++;
      deepest = Math.max(deepest, depth);
    } else if (code === closeBracket || code === closeBrace) {
      depth--;
    }
  }
  return { depth: deepest, hasPlainNumbers };
}

const maxPlainDigits = 15;

const quote = 0x22;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const upperE = 0x45;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const lowerE = 0x65;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function isNumberPart(code: number): boolean {
  return code === dot || code === lowerE || code === upperE;
}

/** The index of the closing quotation mark of the string that opens at `start`. */
function stringEnd(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text.charCodeAt(index) !== quote) {
    index += text.charCodeAt(index) === backslash ? 2 : 1;
  }
  return index;
}
