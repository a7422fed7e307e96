import { readReferenceFile } from "./asset.ts";

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

/** The part of an OpenAPI description that the reference reads. */
export interface OpenApiDocument {
  readonly info: { readonly version: string };
  readonly servers: readonly OpenApiServer[];
  readonly tags: readonly OpenApiTag[];
  readonly "x-error-reasons": readonly OpenApiErrorReason[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly description: string; readonly example?: unknown }>>;
    readonly responses: Readonly<Record<string, OpenApiResponse>>;
    readonly schemas: Readonly<Record<string, OpenApiSchema>>;
  };
}

interface OpenApiServer {
  readonly url: string;
  readonly description?: string;
}

interface OpenApiTag {
  readonly name: string;
  /** The tag's title, for people. */
  readonly "x-displayName": string;
  readonly description: string;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  /** The path of the RPC, such as `petstore.v1.InventoryService/UpdateInventory`. */
  readonly "x-rpc": string;
  /** The title of the group in which it is shown. Absent for the group of its tag. */
  readonly "x-group"?: string;
  /** Absent when any key is sufficient. */
  readonly "x-scope"?: string;
  readonly "x-stability": string;
  readonly "x-deprecated-since"?: string;
  readonly "x-sunset"?: string;
  readonly "x-try-it-out": boolean;
  readonly parameters?: readonly OpenApiParameter[];
  readonly requestBody?: {
    readonly description: string;
    readonly content: Readonly<Record<string, { readonly schema: OpenApiSchema; readonly example: unknown }>>;
  };
  readonly responses: Readonly<Record<string, OpenApiResponse | OpenApiReference>>;
}

export interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly required?: boolean;
  readonly schema: OpenApiSchema;
  readonly example?: unknown;
}

interface OpenApiResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<
    Record<
      string,
      {
        readonly schema: OpenApiSchema;
        /** The schemas of a stream's items. The first one is for the items of a stream that does not fail. */
        readonly "x-item-schema"?: { readonly oneOf: readonly [OpenApiSchema, ...OpenApiSchema[]] };
        readonly example?: unknown;
        readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
      }
    >
  >;
}

interface OpenApiReference {
  readonly $ref: string;
}

/** A schema, or a reference to one with a description of its own. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
  /** The bounds of a duration. */
  readonly "x-minimum"?: string;
  readonly "x-maximum"?: string;
}

/** A reason for which requests fail: its statuses, and its description in the protos. */
export interface OpenApiErrorReason {
  readonly code: string;
  /** Over REST. */
  readonly status: number;
  /** Over gRPC and Connect. */
  readonly canonical: string;
  readonly meaning: string;
  readonly remedy: string;
}

/** A response, with its reference resolved. */
export function responseOf(
  { components }: OpenApiDocument,
  response: OpenApiResponse | OpenApiReference,
): OpenApiResponse {
  return "$ref" in response ? find(components.responses, response.$ref) : response;
}

/** The media type of a response that is JSON. */
const json = "application/json";

/**
 * The schema of the JSON in a response, or of the JSON in each line of a stream; undefined for a response without JSON.
 */
export function contentSchema({ content = {} }: OpenApiResponse): OpenApiSchema | undefined {
  return content[json]?.schema ?? content["application/x-ndjson"]?.["x-item-schema"]?.oneOf[0];
}

/** The example of a response: JSON, or the text of a stream; undefined for a response without an example. */
export function contentExample({ content = {} }: OpenApiResponse): unknown {
  return (content[json] ?? content["text/event-stream"])?.example;
}

/** A schema, with its reference resolved. The description of the reference takes precedence. */
export function schemaOf({ components }: OpenApiDocument, schema: OpenApiSchema): OpenApiSchema {
  const { $ref, ...own } = schema;
  return $ref === undefined ? schema : { ...find(components.schemas, $ref), ...own };
}

function find<T>(components: Readonly<Record<string, T>>, $ref: string): T {
  const found = components[$ref.slice($ref.lastIndexOf("/") + 1)];
  if (found === undefined) {
    throw new Error(`the description has no ${$ref}`);
  }
  return found;
}

/** The values of an enum with their meanings, from its description. */
export function enumMeanings(description: string): ReadonlyMap<string, string> {
  return new Map(
    [...description.matchAll(/^- `([^`]+)`: (.*)$/gm)].map(([, name = "", meaning = ""]) => [name, meaning]),
  );
}
