import type { DescMethod } from "@bufbuild/protobuf";
import {
  type EventStream,
  type Operation as OperationOption,
  StabilitySchema,
  TryIt,
} from "../../gen/petstore/options/v1/options_pb.ts";
import { boundFields, createPaging } from "../../src/gateway/binding.ts";
import { type HttpRule, httpRules, type PathTemplate, parsePathTemplate } from "../../src/gateway/routes/http-rule.ts";
import type { QueryFieldSets } from "../../src/gateway/url.ts";
import { headerOf, operationOf, successStatus } from "../../src/interceptors/operation.ts";
import { requireField } from "../../src/proto-json/fields.ts";
import { rpcName } from "../../src/rpc/endpoint.ts";
import { description, summaryAndDescription } from "./comments.ts";
import { exampleOf, fieldExample } from "./examples.ts";
import { failures } from "./failures.ts";
import { commonHeaders, deprecationOf, fieldHeadersOf, refer, streamHeaders } from "./headers.ts";
import { headerParameters, pathParameterName, pathParameters, queryParameters } from "./parameters.ts";
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
  /** As `boundFields` gives them. */
  readonly boundFields: ReadonlySet<string>;
}

/** Reads what the protos say of a rule's method. Throws an `Error` when they leave its options out. */
export function bindMethod(rule: HttpRule): BoundMethod {
  const { method } = rule;
  const option = operationOf(method);
  if (option === undefined) {
    throw new Error(`${rpcName(method)} has no operation option`);
  }
  if (method.methodKind !== "unary" && option.events === undefined) {
    throw new Error(`${rpcName(method)} is a stream without events`);
  }
  const template = parsePathTemplate(rule.template);
  return { method, option, rule, template, boundFields: boundFields(rule, template, headerOf) };
}

/** The RPC's own name for its first rule. For a further rule, the names of the path's parameters follow. */
function operationIdOf({ method, rule, template }: BoundMethod): string {
  const [first] = httpRules(method);
  if (rule.template === first?.template && rule.httpMethod === first.httpMethod) {
    return method.localName;
  }
  const names = template.variables.map(({ fieldPath }) => pathParameterName(method.input, fieldPath));
  return `${method.localName}By${names.map((name) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`).join("And")}`;
}

/** Describes an operation. Throws an `Error` for what OpenAPI cannot express, or the protos omit. */
export function createOperation(bound: BoundMethod, shared: Shared): Operation {
  const { method, option } = bound;
  const { deprecation, scope, stability, tryIt } = option;
  return {
    operationId: operationIdOf(bound),
    tags: [method.parent.name],
    ...summaryAndDescription(method),
    ...(method.deprecated && { deprecated: true }),
    // Many tools accept scopes for OAuth only. So the operation's scope is in `x-scope`.
    security: [{ apiKey: [] }],
    parameters: createParameters(bound, shared.schemas, shared.queries),
    ...createRequestBody(bound, shared.schemas),
    responses: {
      [successStatus(method)]: createSuccess(bound, shared),
      ...(option.etag && { 304: createNotModified(bound) }),
      ...failures(bound, shared),
    },
    "x-rpc": rpcName(method),
    ...(option.group !== "" && { "x-group": option.group }),
    ...(scope !== "" && { "x-scope": scope }),
    "x-stability": StabilitySchema.value[stability]?.localName.toLowerCase(),
    ...(deprecation && { "x-deprecated-since": deprecation.since, "x-sunset": deprecation.sunset }),
    "x-try-it-out": tryIt !== TryIt.DISABLED,
  };
}

function createParameters(
  { method: { input }, option, rule, template, boundFields }: BoundMethod,
  schemas: Schemas,
  queries: QueryFieldSets,
): readonly Parameter[] {
  return [
    ...pathParameters(input, template, schemas),
    ...(rule.body === "*" ? [] : queryParameters(queries.message(input), boundFields, schemas)),
    ...headerParameters(input, schemas),
    ...(option.events ? [lastEventId] : []),
    ...(option.etag ? [ifNoneMatch] : []),
    ...(option.idempotencyKey ? [idempotencyKey] : []),
  ];
}

const ifNoneMatch: Parameter = {
  name: "If-None-Match",
  in: "header",
  description: "The `ETag` of an answer that you have: 304 if it has not changed (RFC 9110, 13.1.2).",
  schema: { type: "string" },
};

const lastEventId: Parameter = {
  name: "Last-Event-ID",
  in: "header",
  description: "The `id` of the last event that you have: the stream goes on after it, whatever the query says.",
  schema: { type: "string" },
};

const idempotencyKey: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A name of your choice for this request, such as a UUID: 1 to 255 visible ASCII characters, bare or in quotes. The request is done once, however often it is sent within 24 h: a repetition gets the first answer, with `Idempotency-Replayed: true`.",
  schema: {
    type: "string",
    pattern: '^([!#-~][!-~]{0,254}|"([!#-\\[\\]-~]|\\\\["\\\\]){1,255}")$',
  },
};

/**
 * The request body. A body of `*` has all fields that are not in the path or in headers. It may be left out if each of
 * its fields may.
 */
function createRequestBody({ method, rule, boundFields }: BoundMethod, schemas: Schemas) {
  const { input } = method;
  if (rule.body === "") {
    return {};
  }
  if (rule.body !== "*") {
    const content = createContent(input, rule.body, schemas);
    return { requestBody: { description: description(requireField(input, rule.body)), required: true, content } };
  }
  const fields = input.fields.filter(({ name }) => !boundFields.has(name));
  const example = exampleOf(fields, schemas.mayBeAbsent);
  const content = { "application/json": { schema: schemas.body(input, boundFields), example } };
  return { requestBody: { description: description(input), required: !fields.every(schemas.mayBeAbsent), content } };
}

function createSuccess({ method, option, rule, boundFields }: BoundMethod, { schemas, error }: Shared): Response {
  const { output } = method;
  const text = rule.responseBody === "" ? output : requireField(output, rule.responseBody);
  const content = createContent(output, rule.responseBody, schemas);
  if (option.events !== undefined) {
    return createStream(method, option.events, { media: content["application/json"], error });
  }
  return {
    description: description(text),
    headers: {
      ...commonHeaders,
      ...(createPaging(rule, boundFields) && refer("NextLink")),
      ...(option.etag && refer("ETag", "Cache-Control")),
      ...fieldHeadersOf(method),
      ...(option.location !== "" && refer("Location")),
      ...(option.idempotencyKey && refer("Idempotency-Replayed")),
      ...refer("Content-Encoding", "Vary"),
      ...deprecationOf(method, option),
    },
    content,
  };
}

/**
 * The answer of a stream. OpenAPI 3.1 cannot describe the items of a stream, so `x-item-schema` does: it is what version
 * 3.2 calls `itemSchema`. The last item of a stream that fails is an error.
 *
 * Source: https://spec.openapis.org/oas/v3.2.0.html#sequential-media-types
 */
function createStream(
  { output }: DescMethod,
  { type, idField }: EventStream,
  { media, error }: { readonly media: MediaType; readonly error: Schema },
): Response {
  const json = JSON.stringify(media.example);
  const id = fieldExample(requireField(output, idField)) as string;
  return {
    description: `Events of the type \`${type}\`, whose data is this JSON; or lines of it.`,
    headers: { ...commonHeaders, ...streamHeaders },
    content: {
      "text/event-stream": {
        schema: { type: "string" },
        "x-item-schema": { oneOf: [eventSchema(type, media.schema, ["id"]), eventSchema("error", error)] },
        example: `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`,
      },
      "application/x-ndjson": {
        schema: { type: "string" },
        "x-item-schema": { oneOf: [media.schema, { type: "object", properties: { error }, required: ["error"] }] },
        example: `${json}\n`,
      },
    },
  };
}

/** A Server-Sent Event by its fields. */
function eventSchema(type: string, data: Schema, required: readonly string[] = []): Schema {
  return {
    type: "object",
    properties: {
      id: { type: "string" },
      event: { const: type },
      data: { type: "string", contentMediaType: "application/json", contentSchema: data },
      retry: { type: "integer", minimum: 0 },
    },
    required: [...required, "event", "data"],
  };
}

/** The JSON of a message, or of one of its fields. */
function createContent(desc: DescMethod["input"], name: string, schemas: Schemas): { "application/json": MediaType } {
  const field = name === "" ? undefined : requireField(desc, name);
  const media =
    field === undefined
      ? { schema: schemas.message(desc), example: exampleOf(desc.fields, schemas.mayBeAbsent) }
      : { schema: schemas.field(field), example: fieldExample(field, schemas.mayBeAbsent) };
  return { "application/json": media };
}

function createNotModified({ method, option, rule, boundFields }: BoundMethod): Response {
  return {
    description: "The answer that `If-None-Match` names is still the present one.",
    headers: {
      ...commonHeaders,
      ...(createPaging(rule, boundFields) && refer("NextLink")),
      ...refer("ETag", "Cache-Control", "Vary"),
      ...fieldHeadersOf(method),
      ...deprecationOf(method, option),
    },
  };
}
