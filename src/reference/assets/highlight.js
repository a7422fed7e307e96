// @ts-check
import { escapeHtml } from "./html.js";

/** @param {string} list */
const words = (list) => `\\b(?:${list.replaceAll(" ", "|")})\\b`;

/** Strings in any language: with escapes in single or double quotes, without escapes in backquotes. */
const string = `"(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*'|\`[^\`]*\``;
/** A colon follows the name of a JSON member. */
const member = `"(?:[^"\\\\\\n]|\\\\.)*"(?=\\s*:)`;
/** Not within URLs, dates and names. TypeScript writes 64-bit integers with an `n`. */
const number = "(?<![\\w./:-])-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?n?(?![\\w.:/-])";
const never = "(?!)";

/**
 * The patterns of each language.
 *
 * @type {Readonly<Record<string, { readonly comment: string, readonly keyword: string }>>}
 */
const grammars = {
  sh: {
    comment: "(?<=^|\\s)#.*",
    keyword: "(?<=^|\\|\\s*)(?:curl|grpcurl|npx|npm|buf|export)\\b|(?<=\\s)--?[a-zA-Z][\\w-]*",
  },
  ts: {
    comment: "//.*",
    keyword: words("import from const await async new for of if throw type export return true false null"),
  },
  py: { comment: "#.*", keyword: words("import from with as for in if while def return print True False None") },
  go: { comment: "//.*", keyword: words("package import func if err return defer nil var for range") },
  json: { comment: never, keyword: `${member}|${words("true false null")}` },
  http: { comment: never, keyword: "^(?:HTTP/[\\d.]+ .*|[A-Za-z-]+(?=:)|(?:GET|PATCH|POST) .*)" },
  yaml: { comment: "#.*", keyword: "^\\s*-?\\s*[\\w-]+(?=:)" },
};

/**
 * Code as HTML, with `<span>`s of the classes `comment`, `string`, `number` and `keyword`. Unknown languages are plain.
 *
 * @param {string} code
 * @param {string} language
 */
export function highlight(code, language) {
  const pattern = patternOf(language);
  if (pattern === undefined) {
    return escapeHtml(code);
  }
  let html = "";
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? ["plain"];
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${kind}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(end));
}

/** @type {Map<string, RegExp | undefined>} */
const patterns = new Map();

/** @param {string} language */
function patternOf(language) {
  if (!patterns.has(language)) {
    patterns.set(language, createPattern(language));
  }
  return patterns.get(language);
}

/** @param {string} language */
function createPattern(language) {
  const grammar = grammars[language];
  if (grammar === undefined) {
    return undefined;
  }
  const parts = Object.entries({
    comment: grammar.comment,
    // JSON members are strings too, so they are matched first.
    ...(language === "json" ? { keyword: grammar.keyword, string } : { string, keyword: grammar.keyword }),
    number,
  });
  return new RegExp(parts.map(([name, source]) => `(?<${name}>${source})`).join("|"), "gm");
}
