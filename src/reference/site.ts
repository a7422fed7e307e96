import type { DescService } from "@bufbuild/protobuf";
import { createAsset, type Page } from "./asset.ts";
import { type BaseUrls, openApiDocument } from "./openapi/document.ts";

/** The pages for people and their tools: without a key, and not counted. */
export interface Site {
  /** The page at a path; undefined where there is none. */
  find(path: string): Promise<Page | undefined>;
}

/** What the site is about. */
export interface SiteOptions {
  readonly baseUrls: BaseUrls;
  readonly services: readonly DescService[];
  /** Where this server is. It is not asked before the first request. */
  readonly ownOrigin: () => string;
}

/**
 * Makes the site. The reference is written when it is first asked for: a server that nobody reads from starts without
 * it. When that fails, the next reader has it tried again.
 */
export function createSite({ baseUrls, services, ownOrigin }: SiteOptions): Site {
  const description = openApiDocument(baseUrls);
  const openApi = createAsset({
    type: "application/json",
    body: description,
    header: { "x-content-type-options": "nosniff" },
  });
  let reference: Promise<ReadonlyMap<string, Page>> | undefined;

  async function writeReference(): Promise<ReadonlyMap<string, Page>> {
    try {
      const { createReference } = await import("./reference.ts");
      return createReference({ document: JSON.parse(description), services, ownOrigin: ownOrigin() });
    } catch (error) {
      reference = undefined;
      throw error;
    }
  }

  return {
    async find(path) {
      if (path === "/openapi.json") {
        return openApi;
      }
      if (path !== "/" && path !== "/docs" && !path.startsWith("/docs/")) {
        return undefined;
      }
      reference ??= writeReference();
      return (await reference).get(path);
    },
  };
}
