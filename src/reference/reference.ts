import type { DescService } from "@bufbuild/protobuf";
import { HeaderList } from "../http/header-list.ts";
import { createAsset, type Page, readAssetFolder } from "./asset.ts";
import { readChapters } from "./chapters/chapter.ts";
import { templateValues } from "./chapters/template-values.ts";
import { foreignOrigins, listServers, type OpenApiDocument } from "./openapi.ts";
import { listOperations } from "./operations.ts";
import { groupOperations, writePage } from "./page.ts";

/** The options of the reference. */
interface ReferenceOptions {
  /** The description at `/openapi.json`. The samples call its first server. */
  readonly document: OpenApiDocument;
  readonly services: readonly DescService[];
  /** The origin of the server that serves the reference. */
  readonly ownOrigin: string;
}

/** Creates the pages of the reference by path: `/docs`, its assets, and redirects to it. */
export function createReference({ document, services, ownOrigin }: ReferenceOptions): ReadonlyMap<string, Page> {
  const assets = readAssetFolder();
  const operations = listOperations(document, services);
  const servers = listServers(document, ownOrigin);
  const baseUrl = servers[0]?.url ?? "";
  const origins = foreignOrigins(document);
  const body = writePage({
    document,
    assets,
    chapters: readChapters(templateValues({ document, operations, servers, baseUrl })),
    groups: groupOperations(document, operations),
    operations,
    servers,
    baseUrl,
    ownOrigin: origins.length === 0 ? new URL(ownOrigin).origin : undefined,
  });
  const page = createAsset({ type: "text/html; charset=utf-8", body, header: securityHeader(origins) });
  return new Map([["/", redirectTo("/docs")], ["/docs", page], ["/docs/", redirectTo("/docs")], ...assets.pages]);
}

function redirectTo(location: string): Page {
  return () => ({ status: 308, header: HeaderList.from({ location }) });
}

/**
 * The security headers of the page. It loads scripts and styles only from its own server, and calls only that server and
 * the origins of the API.
 *
 * Source: https://www.w3.org/TR/CSP3/
 */
function securityHeader(apiOrigins: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...new Set(apiOrigins)].join(" "),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}
