import type { DescService } from "@bufbuild/protobuf";
import { createAsset, type Page } from "./asset.ts";
import { type BaseUrls, openApiDocument } from "./openapi.ts";

/** The public pages: the reference and the OpenAPI description. They need no key and count against no limit. */
export interface Site {
  /** The page at a path; undefined if there is none. */
  find(path: string): Promise<Page | undefined>;
}

/** The options of the site. */
interface SiteOptions {
  readonly baseUrls: BaseUrls;
  readonly services: readonly DescService[];
  /** The origin of this server. Not called before the first request. */
  readonly ownOrigin: () => string;
}

/**
 * Creates the site. The reference is written for its first reader, so that a server starts without it. If that fails, it
 * is tried again for the next reader.
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
      const { createReference } = await import("./page.ts");
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
