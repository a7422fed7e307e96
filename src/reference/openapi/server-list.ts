import type { OpenApiDocument } from "./view.ts";

/** A server of the API, as the reference names it. */
export interface ApiServer {
  readonly name: string;
  /** Absolute, and ending in `/v1`. */
  readonly url: string;
}

/** The servers of a description. `ownOrigin` is where the one is that it names by a path alone. */
export function listServers({ servers }: OpenApiDocument, ownOrigin: string): ApiServer[] {
  return servers.map(({ url, description = "This server" }) => ({
    name: description,
    url: new URL(url, ownOrigin).href,
  }));
}

/** The origins of the servers that are named by more than a path. */
export function foreignOrigins({ servers }: OpenApiDocument): string[] {
  return servers.filter(({ url }) => URL.canParse(url)).map(({ url }) => new URL(url).origin);
}
