import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { answerConditionally, type ContentCoding, chooseCoding } from "../gateway/negotiation.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";

/** The options of an asset. */
interface AssetOptions {
  /** The media type, with its charset if it has one. */
  readonly type: string;
  readonly body: string | Uint8Array;
  /** The `Cache-Control` header. By default, clients revalidate the asset by its `ETag` each time. */
  readonly cacheControl?: string;
  /** Further response headers. */
  readonly header?: Readonly<Record<string, string>>;
}

/** Answers a GET or a HEAD. */
export type Page = (exchange: Exchange) => Answer | Promise<Answer>;

/** The shortest body that is compressed, in bytes. A shorter one fits one packet anyway. */
const minBytes = 1024;

/** A high quality, because each asset is compressed once, but fast enough for the first reader. */
const brotliParams = { [constants.BROTLI_PARAM_QUALITY]: 9 };

const compress: Record<ContentCoding, (body: Uint8Array) => Promise<Uint8Array>> = {
  br: (body) => promisify(brotliCompress)(body, { params: brotliParams }),
  gzip: (body) => promisify(gzip)(body, { level: 9 }),
};

/**
 * Creates a page that never changes while the server runs. It has an `ETag`. It is compressed for the first client that
 * accepts a coding.
 */
export function createAsset(options: AssetOptions): Page {
  const { type, cacheControl = "public, no-cache", header = {} } = options;
  const body = Buffer.from(options.body);
  const etag = `W/"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  const compressed = new Map<ContentCoding, Promise<Uint8Array>>();

  function inCoding(coding: ContentCoding): Promise<Uint8Array> {
    const present = compressed.get(coding);
    if (present !== undefined) {
      return present;
    }
    const made = compress[coding](body);
    compressed.set(coding, made);
    // A failure is not kept, so the next reader tries again.
    made.catch(() => compressed.delete(coding));
    return made;
  }

  return async (exchange) => {
    const answerHeader = HeaderList.from({ ...header, "content-type": type, "cache-control": cacheControl, etag });
    if (body.length < minBytes) {
      return answerConditionally(exchange, { status: 200, header: answerHeader, body });
    }
    answerHeader.append("vary", "Accept-Encoding");
    const coding = chooseCoding(exchange.header("accept-encoding"));
    if (coding !== undefined) {
      answerHeader.set("content-encoding", coding);
    }
    const sent = coding === undefined ? body : await inCoding(coding);
    return answerConditionally(exchange, { status: 200, header: answerHeader, body: sent });
  };
}

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
  "forced",
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

/** The folders of the reference, relative to this file. The build keeps their relative places. */
const folders = {
  assets: new URL("assets/", import.meta.url),
  chapters: new URL("chapters/", import.meta.url),
  generated: new URL("../../gen/", import.meta.url),
};

type ReferenceFolder = keyof typeof folders;

/** Reads a file of a folder. `name` is its path within the folder. */
export function readReferenceFile(folder: ReferenceFolder, name: string): Buffer {
  return readFileSync(new URL(name, folders[folder]));
}

/** Reads all files of a folder and its subfolders, by their paths within it, such as `samples/curl.js`. */
function readReferenceFiles(folder: ReferenceFolder): ReadonlyMap<string, Buffer> {
  const names = readdirSync(folders[folder], { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.\w+$/.test(name));
  return new Map(names.sort().map((name) => [name, readReferenceFile(folder, name)]));
}
