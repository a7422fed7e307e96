import { readReferenceFile } from "../reference-file.ts";

/** Where the API is reached; both end in `/v1`. Undefined for what is not told. */
export interface BaseUrls {
  readonly production: string | undefined;
  readonly staging: string | undefined;
}

/**
 * The OpenAPI description as JSON, with the servers at which the API is reached, and where its reference is. When none
 * is told, it is the server that the description is read from, whose address the description cannot name.
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
  // OpenAPI 3.1 wants a whole URI here.
  const externalDocs = { description: "The API reference", url: new URL("/docs", first.url).href };
  return JSON.stringify({ openapi, info, externalDocs, ...document, servers });
}
