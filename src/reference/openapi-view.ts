/** What the reference reads of an OpenAPI description. */
export interface OpenApiDocument {
  readonly info: { readonly version: string };
  readonly servers: readonly OpenApiServer[];
  readonly "x-error-reasons": readonly OpenApiErrorReason[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, { readonly description: string; readonly example?: unknown }>>;
    readonly responses: Readonly<Record<string, { readonly headers: Readonly<Record<string, unknown>> }>>;
  };
}

export interface OpenApiServer {
  readonly url: string;
  readonly description?: string;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly deprecated?: boolean;
  /** The path of the RPC, such as `petstore.v1.InventoryService/UpdateInventory`. */
  readonly "x-rpc": string;
  /** Left out where any key will do. */
  readonly "x-scope"?: string;
  readonly "x-stability": string;
  readonly "x-sunset"?: string;
  readonly parameters?: readonly OpenApiParameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: unknown }>> };
}

export interface OpenApiParameter {
  readonly name: string;
  readonly in: string;
  readonly example?: unknown;
}

/** Why requests fail, with the statuses of it and what the protos say about it. */
export interface OpenApiErrorReason {
  readonly code: string;
  /** Over REST. */
  readonly status: number;
  /** Over gRPC and Connect. */
  readonly canonical: string;
  readonly meaning: string;
  readonly remedy: string;
}
