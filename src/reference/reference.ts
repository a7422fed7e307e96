import type { DescService } from "@bufbuild/protobuf";
import { createAsset, type Page } from "./asset.ts";
import { readAssetFolder } from "./asset-folder.ts";
import { readChapters } from "./chapters/chapter.ts";
import { chapterParts } from "./chapters/template-values.ts";
import { listOperations } from "./openapi/operations.ts";
import { foreignOrigins, listServers } from "./openapi/server-list.ts";
import type { OpenApiDocument } from "./openapi/view.ts";
import { groupOperations } from "./page/operation-group.ts";
import { type PageParts, writePage } from "./page/page.ts";
import { securityHeader } from "./security-header.ts";

/** What the reference is about. */
export interface ReferenceOptions {
  /** The description that is served at `/openapi.json`. Its first server is the one that the samples call. */
  readonly document: OpenApiDocument;
  readonly services: readonly DescService[];
  /** Where the server is that serves the reference. */
  readonly ownOrigin: string;
}

/** Makes the pages of the reference, by their paths: `/docs`, what it is made of, and `/`, which leads there. */
export function createReference({ document, services, ownOrigin }: ReferenceOptions): ReadonlyMap<string, Page> {
  const assets = readAssetFolder();
  const operations = listOperations(document, services);
  const servers = listServers(document, ownOrigin);
  const baseUrl = servers[0]?.url ?? "";
  const origins = foreignOrigins(document);
  const body = writePage({
    document,
    assets,
    chapters: readChapters(
      chapterParts({ document, operations, servers, baseUrl }),
    ) as unknown as PageParts["chapters"],
    groups: groupOperations(document, operations),
    operations,
    servers,
    baseUrl,
    ownOrigin: origins.length === 0 ? new URL(ownOrigin).origin : undefined,
  });
  const page = createAsset({ type: "text/html; charset=utf-8", body, header: securityHeader(origins) });
  return new Map([["/", leadTo("/docs")], ["/docs", page], ["/docs/", leadTo("/docs")], ...assets.pages]);
}

function leadTo(location: string): Page {
  return () => ({ status: 308, header: new Headers({ location }) });
}
