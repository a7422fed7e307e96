import { hash } from "node:crypto";
import { extname } from "node:path";
import { createAsset, type Page } from "./asset.ts";
import { readReferenceFiles } from "./reference-file.ts";

/** The files of the page: styles, scripts, the icon. */
export interface AssetFolder {
  /** The path of the folder, without a slash at the end. It contains a hash of all files. */
  readonly path: string;
  /** The paths of the modules within it, which the page preloads. */
  readonly modules: readonly string[];
  readonly pages: ReadonlyMap<string, Page>;
}

const mediaTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The path contains the hash, so the content never changes. Source: RFC 8246 */
const cacheControl = "public, max-age=31536000, immutable";

/** The style sheets, which are served as one, in this order: the theme is first. */
const styles = [
  "theme",
  "layout",
  "header",
  "search",
  "prose",
  "code",
  "operation",
  "fields",
  "answer",
  "live",
  "print",
];

/** The classic script that runs before the first paint. */
export const earlyScript = "early.js";

/** Reads the files in `assets/`. They share one hash, so that relative paths between them work. */
export function readAssetFolder(): AssetFolder {
  const files = withOneStyle(readReferenceFiles("assets"));
  const digest = hash("sha256", Buffer.concat([...files].flatMap(([name, body]) => [Buffer.from(name), body])), "hex");
  const path = `/docs/assets/${digest.slice(0, 16)}`;
  const pages = [...files].flatMap(([name, body]): [string, Page][] => {
    const type = mediaTypes[extname(name)];
    const header = { "x-content-type-options": "nosniff" };
    return type === undefined ? [] : [[`${path}/${name}`, createAsset({ type, body, cacheControl, header })]];
  });
  const modules = [...files.keys()].filter((name) => name.endsWith(".js") && name !== earlyScript);
  return { path, modules, pages: new Map(pages) };
}

function withOneStyle(files: ReadonlyMap<string, Buffer>): Map<string, Buffer> {
  const sheets = styles.map((name) => files.get(`styles/${name}.css`));
  if (sheets.includes(undefined)) {
    throw new Error("a style sheet is missing");
  }
  const others = [...files].filter(([name]) => !name.startsWith("styles/"));
  return new Map([...others, ["reference.css", Buffer.concat(sheets as Buffer[])]]);
}
