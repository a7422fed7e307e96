/** The parts of OpenAPI 3.1 in use. Source: https://spec.openapis.org/oas/v3.1.1.html */
export interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly [name: string]: unknown;
}

/** The operations of a path, by HTTP method in lower case. */
export type PathItem = Readonly<Record<string, Operation>>;

export interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Response | Reference>>;
  readonly [name: string]: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: Schema;
  readonly [name: string]: unknown;
}

export interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, Reference | Header>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface Header {
  readonly description: string;
  readonly required: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface MediaType {
  readonly schema: Schema;
  /** Of each item of a stream. */
  readonly "x-item-schema"?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

export interface Reference {
  readonly $ref: string;
}

/** A schema of JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;
