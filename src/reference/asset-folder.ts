import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join } from "node:path";

import { createAsset, type Page } from "./asset.ts";

/** The files of the page: styles, scripts, the icon. */
export interface AssetFolder {
  /** The path of the folder, without a slash at the end. It holds a hash of all that is in it. */
  readonly path: string;
  readonly pages: ReadonlyMap<string, Page>;
}

const mediaTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** What is found under a path with its hash never changes. Source: RFC 8246 */
const cacheControl = "public, max-age=31536000, immutable";

/** Reads the files in `assets/`, and Swagger UI. One hash for all lets them name each other by relative paths. */
export function readAssetFolder(): AssetFolder {
  const files = readFiles();
  const digest = hash("sha256", Buffer.concat([...files].flatMap(([name, body]) => [Buffer.from(name), body])), "hex");
  const path = `/docs/assets/${digest.slice(0, 16)}`;
  const pages = [...files].map(([name, body]): [string, Page] => {
    const type = mediaTypes[extname(name)] ?? "application/octet-stream";
    return [
      `${path}/${name}`,
      createAsset({ type, body, cacheControl, header: { "x-content-type-options": "nosniff" } }),
    ];
  });
  return { path, pages: new Map(pages) };
}

function readFiles(): Map<string, Buffer> {
  const folder = join(import.meta.dirname, "assets");
  const own = readdirSync(folder).map((name): [string, Buffer] => [name, readFileSync(join(folder, name))]);
  const swaggerUi = createRequire(import.meta.url).resolve("swagger-ui-dist/swagger-ui-bundle.js");
  return new Map([...own, ["swagger-ui-bundle.js", readFileSync(swaggerUi)]]);
}
