import type { Page } from "./asset.ts";

/** The pages for people and their tools, by their paths: without a key, and not counted. */
export type Site = ReadonlyMap<string, Page>;

/** Makes the site. */
export function createSite(): Site {
  return new Map();
}
