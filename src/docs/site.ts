import { createAsset, type Page } from "./asset.ts";
import { type BaseUrls, openApiDocument } from "./openapi.ts";

/** The pages for people and their tools, by their paths: without a key, and not counted. */
export type Site = ReadonlyMap<string, Page>;

/** Makes the site, for an API that is reached at these addresses. */
export function createSite(baseUrls: BaseUrls): Site {
  return new Map([["/openapi.json", createAsset({ type: "application/json", body: openApiDocument(baseUrls) })]]);
}
