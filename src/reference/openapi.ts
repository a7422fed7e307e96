import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Where the API is reached; both end in `/v1`. Undefined for what is not told. */
export interface BaseUrls {
  readonly production: string | undefined;
  readonly staging: string | undefined;
}

const file = join(import.meta.dirname, "../../gen/openapi.json");

/**
 * The OpenAPI description as JSON, with the servers at which the API is reached. When none is told, it is the server
 * that the description is read from.
 */
export function openApiDocument({ production, staging }: BaseUrls): string {
  const document = JSON.parse(readFileSync(file, "utf8"));
  const servers = [
    { url: production, description: "Production" },
    { url: staging, description: "Staging" },
  ].filter(({ url }) => url !== undefined);
  return JSON.stringify(servers.length === 0 ? document : { ...document, servers });
}
