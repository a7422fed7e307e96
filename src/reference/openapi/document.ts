import { readReferenceFile } from "../reference-file.ts";
import type { OpenApiDocument } from "./view.ts";

/** The URLs of the API, which end in `/v1`. Undefined for one that is not configured. */
export interface BaseUrls {
  readonly production: string | undefined;
  readonly staging: string | undefined;
}

/**
 * The OpenAPI description as JSON, with the servers of the API and the URL of its reference. Without base URLs, the
 * server is the one that serves the description, by a relative URL.
 */
export function openApiDocument({ production, staging }: BaseUrls): string {
  const { openapi, info, ...document } = JSON.parse(readReferenceFile("generated", "openapi.json").toString());
  const servers = [
    { url: production, description: "Production" },
    { url: staging, description: "Staging" },
  ].filter(({ url }) => url !== undefined);
  const [first] = servers;
  if (first === undefined) {
    return JSON.stringify({ openapi, info, ...document });
  }
  // OpenAPI 3.1 requires an absolute URL here.
  const externalDocs = { description: "The API reference", url: new URL("/docs", first.url).href };
  return JSON.stringify({ openapi, info, externalDocs, ...document, servers });
}

/** A server of the API. */
export interface ApiServer {
  readonly name: string;
  /** Absolute, ending in `/v1`. */
  readonly url: string;
}

/** The servers of a description. Relative URLs are resolved against `ownOrigin`. */
export function listServers({ servers }: OpenApiDocument, ownOrigin: string): ApiServer[] {
  return servers.map(({ url, description = "This server" }) => ({
    name: description,
    url: new URL(url, ownOrigin).href,
  }));
}

/** The origins of the servers with absolute URLs. */
export function foreignOrigins({ servers }: OpenApiDocument): string[] {
  return servers.filter(({ url }) => URL.canParse(url)).map(({ url }) => new URL(url).origin);
}
