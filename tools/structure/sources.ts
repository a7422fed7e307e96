import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { parseAst } from "rolldown/parseAst";

/** One TypeScript file. */
export interface Source {
  /** Relative to the folder that was read. */
  readonly path: string;
  readonly folder: string;
  readonly lines: number;
  readonly functions: readonly SourceFunction[];
  /** How many other files import it. */
  readonly importers: number;
}

export interface SourceFunction {
  /** Where it stands, as `path:line`. */
  readonly name: string;
  readonly lines: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly source?: { readonly value?: unknown };
  readonly [key: string]: unknown;
}

/** Reads all TypeScript files below a folder. */
export function readSources(root: string): Source[] {
  const files = globSync("**/*.ts", { cwd: root }).map((path) => readSource(root, path));
  const imported = files.flatMap(({ imports }) => [...imports]);
  return files.map(({ path, folder, lines, functions }) => {
    const importers = imported.filter((other) => other === path).length;
    return { path, folder, lines, functions, importers };
  });
}

function readSource(root: string, path: string) {
  const text = readFileSync(join(root, path), "utf8");
  const nodes = [...walk(parseAst(text, { lang: "ts" }) as unknown as Node)];
  const lineOf = (offset: number) => text.slice(0, offset).split("\n").length;
  const functions = nodes
    .filter(({ type }) => /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type))
    .map(({ start, end }) => ({ name: `${path}:${lineOf(start)}`, lines: lineOf(end) - lineOf(start) + 1 }));
  const imports = new Set(
    nodes
      .filter(({ type }) => /^(Import|Export\w+)(Declaration|Expression)$/.test(type))
      .map(({ source }) => source?.value)
      .filter((specifier) => typeof specifier === "string" && specifier.startsWith("."))
      .map((specifier) => normalize(join(dirname(path), specifier as string))),
  );
  return { path, folder: dirname(path), lines: text.split("\n").length - 1, functions, imports };
}

function* walk(node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child !== null && typeof child === "object" && typeof child.type === "string") {
        yield* walk(child as Node);
      }
    }
  }
}
