import { escapeHtml } from "./html.ts";

/** What a piece of code is, in the order of trial. */
interface Grammar {
  readonly comment: string;
  readonly keyword: string;
}

const words = (list: string) => `\\b(?:${list.replaceAll(" ", "|")})\\b`;

const grammars: Readonly<Record<string, Grammar>> = {
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
  json: { comment: "(?!)", keyword: words("true false null") },
  http: { comment: "(?!)", keyword: "^(?:HTTP/[\\d.]+ .*|[A-Za-z-]+(?=:)|(?:GET|PATCH|POST) .*)" },
  yaml: { comment: "#.*", keyword: "^\\s*-?\\s*[\\w-]+(?=:)" },
};

/** Strings of all the languages: with escapes in single or double quotes, and without in back-quotes. */
const string = `"(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*'|\`[^\`]*\``;
/** Not those in addresses, dates and names. */
const number = "(?<![\\w./:-])-?\\d+(?:\\.\\d+)?(?![\\w.:/-])";

/**
 * Code as HTML, with `<span>`s of the classes `comment`, `string`, `number` and `keyword`. Unknown languages are plain.
 */
export function highlight(code: string, language: string): string {
  const grammar = grammars[language];
  if (grammar === undefined) {
    return escapeHtml(code);
  }
  const { comment, keyword } = grammar;
  const pattern = new RegExp(
    `(?<comment>${comment})|(?<string>${string})|(?<keyword>${keyword})|(?<number>${number})`,
    "gm",
  );
  let html = "";
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? ["plain"];
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${kind}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(end));
}
