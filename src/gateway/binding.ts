import { type DescField, type DescMessage, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import type { Exchange } from "../http/exchange.ts";
import { createSetter, type Fields, type PathSetter, requireField, resolveFieldPath } from "../proto-json/fields.ts";
import type { JsonPolicy } from "../proto-json/json-policy.ts";
import { createFieldTextReader, type JsonReaders } from "../proto-json/json-reader.ts";
import type { JsonWriters } from "../proto-json/json-writer.ts";
import type { JsonReader, JsonWriter, TextReader } from "../proto-json/scalar.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import {
  type HttpRule,
  type PathTemplate,
  PathTemplateError,
  parsePathTemplate,
  RouteError,
  type TemplateVariable,
} from "./routes/http-rule.ts";
import {
  createResumeReader,
  createStreamFormats,
  type EventsOf,
  type ResumeReader,
  type StreamFormats,
} from "./stream.ts";
import { decodeQueryName, type QueryFieldSets, type QueryFields, splitQuery } from "./url.ts";

/** A compiled rule: reads a request, and writes its answer. */
export interface Binding {
  readonly endpoint: Endpoint;
  readonly rule: HttpRule;
  readonly template: PathTemplate;
  readonly variables: readonly BoundVariable[];
  /** Undefined when the request has no body. */
  readonly body: BodyBinding | undefined;
  /** Undefined when the body takes all fields that are not in the path. */
  readonly query: QueryBinding | undefined;
  readonly requestHeaders: readonly FieldHeader[];
  readonly responseHeaders: readonly FieldHeader[];
  /** The status of a successful answer. */
  readonly status: number;
  /** Undefined for a method that creates nothing with a path. */
  readonly location: Location | undefined;
  readonly writeResponse: JsonWriter;
  /** Undefined for a unary method. */
  readonly formats: StreamFormats | undefined;
  /** Undefined for a method without events. */
  readonly readResume: ResumeReader | undefined;
  readonly paging: Paging | undefined;
}

/** A variable of the path, with the field that it sets. */
export interface BoundVariable extends TemplateVariable {
  /** The path of the field by JSON names, joined by dots. */
  readonly jsonPath: string;
  readonly read: TextReader;
  readonly set: PathSetter;
}

/** Where the body goes: the message itself, or one of its fields. */
export interface BodyBinding {
  readonly read: JsonReader;
  /** Undefined when the body is the message. */
  readonly set: ((message: Fields, value: unknown) => void) | undefined;
}

/** The fields that parameters of the query set. */
export interface QueryBinding {
  readonly fields: QueryFields;
  /** The paths of fields that come from the path, the body or a header. */
  readonly bound: ReadonlySet<string>;
}

/** The name of the header that carries a field, such as `If-Match`; undefined for a field that none carries. */
type HeaderOf = (field: DescField) => string | undefined;

/** A string field that a header carries. The path, the query and the body do not contain it. */
interface FieldHeader {
  readonly headerName: Lowercase<string>;
  readonly field: DescField;
}

/**
 * The path template of what a method creates, such as `/v1/holds/{hold.hold_id}`. Its variables are fields of the
 * response. Undefined for a method that creates nothing with a path.
 */
type LocationOf = (method: DescMethod) => string | undefined;

/** What a gateway knows of methods beside their rules. */
export interface MethodOptions {
  /** Says which string fields of requests and answers a header carries. */
  readonly headerOf: HeaderOf;
  /** Says which streams can be sent as Server-Sent Events. */
  readonly eventsOf: EventsOf;
  /** The status of the successful answers of a method. */
  readonly successStatus: (method: DescMethod) => number;
  /** The path template of what a method creates, which answers carry as `Location`. */
  readonly locationOf: LocationOf;
}

/** What the bindings of one gateway share. */
export interface Compilers extends MethodOptions {
  readonly policy: JsonPolicy;
  readonly readers: JsonReaders;
  readonly writers: JsonWriters;
  readonly queries: QueryFieldSets;
}

/** Compiles a rule. Throws `RouteError` when it cannot be served. */
export function createBinding(endpoint: Endpoint, rule: HttpRule, compilers: Compilers): Binding {
  try {
    return compileBinding(endpoint, rule, compilers);
  } catch (error) {
    const reason =
      error instanceof PathTemplateError ? `the template is malformed, ${error.message}` : messageOf(error);
    throw new RouteError(rule, reason);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function compileBinding(endpoint: Endpoint, rule: HttpRule, compilers: Compilers): Binding {
  const template = parsePathTemplate(rule.template);
  const variables = template.variables.map((variable) => bindVariable(variable, rule, compilers));
  const inPath = variables.map(({ fieldPath }) => fieldPath);
  assertDisjoint(inPath, rule.body);
  const requestHeaders = fieldHeaders(rule.method.input, compilers.headerOf);
  const responseHeaders = fieldHeaders(rule.method.output, compilers.headerOf);
  assertNotInHeaders([...inPath, rule.body], requestHeaders);
  assertBodyWithout(rule, responseHeaders);
  const location = compilers.locationOf(rule.method);
  const writeResponse = bindResponse(rule, compilers.writers);
  const events = compilers.eventsOf(rule.method);
  const bound = boundFields(rule, template, compilers.headerOf);
  const query = bindQuery(rule, bound, compilers);
  return {
    endpoint,
    rule,
    template,
    variables,
    body: bindBody(rule, bound, compilers),
    query,
    requestHeaders,
    responseHeaders,
    status: compilers.successStatus(rule.method),
    location: location === undefined ? undefined : createLocation(rule.method.output, location),
    writeResponse,
    formats: isStream(rule.method) ? createStreamFormats(rule, writeResponse, events) : undefined,
    readResume: events && createResumeReader(rule.method, events),
    paging: createPaging(rule, bound),
  };
}

/**
 * The paths of the fields (proto names, joined by dots) that come from the path of the URL or a header, or are the whole
 * body. All others are in the query, or in a body of `*`.
 */
export function boundFields(
  { method: { input }, body }: HttpRule,
  { variables }: PathTemplate,
  headerOf: HeaderOf,
): ReadonlySet<string> {
  const inPath = variables.map(({ fieldPath }) => fieldPath);
  const inHeaders = input.fields.filter((field) => headerOf(field) !== undefined).map(({ name }) => name);
  return new Set([...inPath, ...inHeaders, ...(body === "" || body === "*" ? [] : [body])]);
}

function isStream({ methodKind }: DescMethod): boolean {
  return methodKind === "server_streaming";
}

function bindVariable(variable: TemplateVariable, { method }: HttpRule, { policy }: Compilers): BoundVariable {
  const { leaf, jsonPath, set } = resolveFieldPath(method.input, variable.fieldPath);
  const read = createFieldTextReader(leaf, policy);
  if (read === undefined || (leaf.fieldKind !== "scalar" && leaf.fieldKind !== "enum")) {
    throw new Error(`the variable ${variable.fieldPath} is neither a singular scalar nor an enum`);
  }
  return { ...variable, jsonPath, read, set };
}

/** The fields of a message that headers carry. Throws an `Error` for one that a header cannot carry. */
function fieldHeaders({ fields }: DescMessage, headerOf: HeaderOf): readonly FieldHeader[] {
  return fields.flatMap((field) => {
    const headerName = headerOf(field)?.toLowerCase() as Lowercase<string> | undefined;
    if (headerName === undefined) {
      return [];
    }
    if (field.fieldKind !== "scalar" || field.scalar !== ScalarType.STRING || field.oneof !== undefined) {
      throw new Error(`the field ${field.name}, which ${headerName} carries, is no text, or one of a oneof`);
    }
    return [{ headerName, field }];
  });
}

/** Throws if a field is set twice. A path may set a part of the field that the body sets, as in AIP-134. */
function assertDisjoint(inPath: readonly string[], body: string): void {
  for (const [index, path] of inPath.entries()) {
    if (inPath.indexOf(path) !== index) {
      throw new Error(`the field ${path} is bound by two variables`);
    }
    if (path === body) {
      throw new Error(`the field ${path} is bound by the path and by the body`);
    }
  }
}

function assertNotInHeaders(bound: readonly string[], headers: readonly FieldHeader[]): void {
  const twice = headers.find(({ field }) => bound.includes(field.name))?.field.name;
  if (twice !== undefined) {
    throw new Error(`the field ${twice} is bound by a header, and by the path or the body`);
  }
}

/**
 * Throws if the body of an answer contains a field that a header carries. With such a field, `response_body` must name
 * another one.
 */
function assertBodyWithout({ responseBody }: HttpRule, headers: readonly FieldHeader[]): void {
  const inBody = headers.find(({ field }) => responseBody === "" || responseBody === field.name)?.field;
  if (inBody !== undefined) {
    throw new Error(`the field ${inBody.name} is carried by a header, and must not be in the body of the answer`);
  }
}

function bindBody(
  { method, body }: HttpRule,
  bound: ReadonlySet<string>,
  { readers }: Compilers,
): BodyBinding | undefined {
  if (body === "") {
    return undefined;
  }
  if (body === "*") {
    return { read: readers.message(method.input, [...bound]), set: undefined };
  }
  const field = requireField(method.input, body);
  return { read: readers.field(field), set: createSetter(field) };
}

function bindQuery(rule: HttpRule, bound: ReadonlySet<string>, { queries }: Compilers): QueryBinding | undefined {
  return rule.body === "*" ? undefined : { fields: queries.message(rule.method.input), bound };
}

/** The body of an answer is the response, or one of its fields. */
function bindResponse({ method, responseBody }: HttpRule, writers: JsonWriters): JsonWriter {
  return responseBody === ""
    ? writers.message(method.output)
    : writers.fieldOf(requireField(method.output, responseBody));
}

/** The path of what a call has created; undefined where the response lacks a field of it. Source: RFC 9110, 10.2.2. */
type Location = (response: Fields) => string | undefined;

function createLocation(output: DescMessage, template: string): Location {
  const { segments, variables, verb } = parsePathTemplate(template);
  if (verb !== "") {
    throw new Error(`the location ${template} has a verb`);
  }
  const writers = segments.map((segment, index): Location => {
    const variable = variables.find(({ start, isSingle }) => isSingle && start === index);
    if (variable !== undefined) {
      return createSegmentWriter(output, variable);
    }
    if (segment.kind !== "literal") {
      throw new Error(`the location ${template} has a segment that is neither a text nor a field`);
    }
    return () => segment.text;
  });
  return (response) => {
    const parts = writers.map((write) => write(response));
    return parts.includes(undefined) ? undefined : `/${parts.join("/")}`;
  };
}

function createSegmentWriter(output: DescMessage, { fieldPath }: TemplateVariable): Location {
  const { leaf, get } = resolveFieldPath(output, fieldPath);
  if (leaf.fieldKind !== "scalar") {
    throw new Error(`the field ${leaf.name} of the location is no singular scalar`);
  }
  return (response) => {
    const value = get(response) as string | number | bigint | boolean | undefined;
    return value === undefined || value === "" ? undefined : percentEncode(String(value));
  };
}

/** Links to the next page of a list whose body has no place for the token. Source: AIP-158. */
interface Paging {
  /** The `Link` to the next page (RFC 8288); undefined on the last page. */
  nextLink(exchange: Exchange, response: Fields): string | undefined;
}

/**
 * The paging of an RPC. Undefined unless its request takes a `page_token` from the query, and its response has a
 * `next_page_token` outside of the body.
 */
export function createPaging(rule: HttpRule, bound: ReadonlySet<string>): Paging | undefined {
  const token = stringField(rule.method.input, "page_token");
  const next = stringField(rule.method.output, "next_page_token");
  const isHidden = rule.responseBody !== "" && rule.responseBody !== next?.name;
  const isInQuery = rule.body !== "*" && token !== undefined && !bound.has(token.name);
  if (!isInQuery || next === undefined || !isHidden) {
    return undefined;
  }
  const fields = rule.method.input.fields.filter((field) => field !== token);
  const kept = new Set(fields.flatMap(({ name, jsonName }) => [name, jsonName]));
  return {
    nextLink: (exchange, response) => {
      const value = response[next.localName] as string | undefined;
      return value ? nextLink(exchange, kept, `${token.jsonName}=${percentEncode(value)}`) : undefined;
    },
  };
}

function stringField(desc: DescMessage, name: string) {
  return desc.fields.find(
    (field) =>
      field.name === name &&
      field.fieldKind === "scalar" &&
      field.scalar === ScalarType.STRING &&
      field.oneof === undefined,
  );
}

/**
 * The `Link` to the URL of the request with another page token. Parameters that name no field of the request are left
 * out.
 */
function nextLink(exchange: Exchange, kept: ReadonlySet<string>, token: string): string {
  const { scheme, authority, path, query } = exchange;
  const others = query === "" ? [] : query.split("&").filter((parameter) => isOneOf(kept, parameter));
  const address = `${scheme}://${authority}${path}?${[...others, token].join("&")}`;
  return `<${address.replace(outsideUri, escapeByte)}>; rel="next"`;
}

function isOneOf(names: ReadonlySet<string>, parameter: string): boolean {
  const parts = splitQuery(parameter);
  return parts.length > 0 && parts.every(({ name }) => names.has(decodeQueryName(name)?.split(".", 1)[0] ?? ""));
}

/** Characters that a parser may accept in a request target, but RFC 3986 does not, such as `<`, `>` and `"`. */
const outsideUri = /[^!$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]/g;

/** Request targets are read as Latin-1: a character is a byte. */
function escapeByte(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
