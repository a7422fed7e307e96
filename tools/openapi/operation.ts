import type { DescMethod } from "@bufbuild/protobuf";
import { type Operation as OperationOption, StabilitySchema, TryIt } from "../../gen/petstore/options/v1/options_pb.ts";
import { requireField } from "../../src/gateway/fields/field-access.ts";
import { createPaging } from "../../src/gateway/paging.ts";
import type { QueryFieldSets } from "../../src/gateway/query/query.ts";
import type { HttpRule } from "../../src/gateway/routes/http-rule.ts";
import { type PathTemplate, parsePathTemplate } from "../../src/gateway/routes/path-template.ts";
import { operationOf } from "../../src/interceptors/operation.ts";
import { rpcName } from "../../src/rpc/endpoint.ts";
import { description, summaryAndDescription } from "./comments.ts";
import { exampleOf, fieldExample } from "./examples.ts";
import { failures } from "./failures.ts";
import { commonHeaders, deprecationOf, refer } from "./headers.ts";
import { pathParameters, queryParameters } from "./parameters.ts";
import type { Reason } from "./reasons.ts";
import type { Responses } from "./responses.ts";
import type { Schemas } from "./schemas.ts";
import type { MediaType, Operation, Parameter, Response, Schema } from "./types.ts";

/** What the operations of a description share. */
export interface Shared {
  readonly schemas: Schemas;
  readonly queries: QueryFieldSets;
  readonly responses: Responses;
  readonly reasons: readonly Reason[];
  /** The schema of the body of failed answers. */
  readonly error: Schema;
}

/** An RPC as the operation that one of its rules makes of it. */
export interface BoundMethod {
  readonly method: DescMethod;
  readonly option: OperationOption;
  readonly rule: HttpRule;
  readonly template: PathTemplate;
  /** The fields, in proto names, that the query does not set. */
  readonly bound: ReadonlySet<string>;
}

/** Reads what the protos say of a rule's method. Throws an `Error` when they leave its options out. */
export function bindMethod(rule: HttpRule): BoundMethod {
  const { method } = rule;
  const option = operationOf(method);
  if (option === undefined || method.methodKind !== "unary") {
    throw new Error(`${rpcName(method)} has no operation option, or is not unary`);
  }
  const template = parsePathTemplate(rule.template);
  const bound = new Set([...template.variables.map(({ fieldPath }) => fieldPath), rule.body]);
  return { method, option, rule, template, bound };
}

/** Describes an operation. Throws an `Error` for what OpenAPI cannot express, or the protos omit. */
export function createOperation(bound: BoundMethod, shared: Shared): Operation {
  const { method, option } = bound;
  const { deprecation, scope, stability, tryIt } = option;
  return {
    operationId: method.localName,
    tags: [method.parent.name],
    ...summaryAndDescription(method),
    ...(method.deprecated && { deprecated: true }),
    // Many tools accept scopes for OAuth only. So the operation's scope is in `x-scope`.
    security: [{ apiKey: [] }],
    parameters: createParameters(bound, shared.schemas, shared.queries),
    ...createRequestBody(bound, shared.schemas),
    responses: {
      200: createSuccess(bound, shared.schemas),
      ...(option.etag && { 304: createNotModified(bound) }),
      ...failures(bound, shared),
    },
    "x-rpc": rpcName(method),
    ...(scope !== "" && { "x-scope": scope }),
    "x-stability": StabilitySchema.value[stability]?.localName.toLowerCase(),
    ...(deprecation && { "x-deprecated-since": deprecation.since, "x-sunset": deprecation.sunset }),
    "x-try-it-out": tryIt !== TryIt.DISABLED,
  };
}

function createParameters(
  { method: { input }, option, rule, template, bound }: BoundMethod,
  schemas: Schemas,
  queries: QueryFieldSets,
): readonly Parameter[] {
  return [
    ...pathParameters(input, template, schemas),
    ...(rule.body === "*" ? [] : queryParameters(queries.message(input), bound, schemas)),
    ...(option.etag ? [ifNoneMatch] : []),
  ];
}

const ifNoneMatch: Parameter = {
  name: "If-None-Match",
  in: "header",
  description: "The `ETag` of an answer that you have: 304 if it has not changed (RFC 9110, 13.1.2).",
  schema: { type: "string" },
};

function createRequestBody({ method, rule, template }: BoundMethod, schemas: Schemas) {
  const { input } = method;
  if (rule.body === "") {
    return {};
  }
  if (rule.body === "*" && template.variables.length > 0) {
    throw new Error(`${rpcName(method)}: a body of all that the path leaves has no schema here`);
  }
  const content = createContent(input, rule.body === "*" ? "" : rule.body, schemas);
  const text = rule.body === "*" ? input : requireField(input, rule.body);
  return { requestBody: { description: description(text), required: rule.body !== "*", content } };
}

function createSuccess({ method, option, rule, bound }: BoundMethod, schemas: Schemas): Response {
  const { output } = method;
  const text = rule.responseBody === "" ? output : requireField(output, rule.responseBody);
  return {
    description: description(text),
    headers: {
      ...commonHeaders,
      ...(createPaging(rule, bound) && refer("NextLink")),
      ...(option.etag && refer("ETag", "Cache-Control")),
      ...refer("Content-Encoding", "Vary"),
      ...deprecationOf(method, option),
    },
    content: createContent(output, rule.responseBody, schemas),
  };
}

/** The JSON of a message, or of one of its fields. */
function createContent(desc: DescMethod["input"], name: string, schemas: Schemas): Record<string, MediaType> {
  const field = name === "" ? undefined : requireField(desc, name);
  const media =
    field === undefined
      ? { schema: schemas.message(desc), example: exampleOf(desc) }
      : { schema: schemas.field(field), example: fieldExample(field) };
  return { "application/json": media };
}

function createNotModified({ method, option }: BoundMethod): Response {
  return {
    description: "The answer that `If-None-Match` names is still the present one.",
    headers: { ...commonHeaders, ...refer("ETag", "Cache-Control", "Vary"), ...deprecationOf(method, option) },
  };
}
