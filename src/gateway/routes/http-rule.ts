import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import type { HttpRule as HttpRuleOption } from "../../../gen/google/api/http_pb.ts";
import { rpcName } from "../../rpc/endpoint.ts";

/** The RPC of a rule, and its path template as written. */
interface RuleOrigin {
  readonly method: DescMethod;
  readonly template: string;
}

/** One HTTP method and path of an RPC. */
export interface HttpRule extends RuleOrigin {
  /** In upper case, or `*` for any. */
  readonly httpMethod: string;
  /** Empty for none, `*` for all fields, or the proto name of a field. */
  readonly body: string;
  /** Empty for the whole message, or the proto name of a field. */
  readonly responseBody: string;
}

/**
 * The rules of an RPC: its `google.api.http` option and the additional bindings in it.
 * Throws `RouteError`.
 */
export function httpRules(method: DescMethod): readonly HttpRule[] {
  if (!hasOption(method, http)) {
    return [];
  }
  const option = getOption(method, http);
  return [option, ...option.additionalBindings.map((binding) => assertFlat(method, binding))].map((binding) =>
    createRule(method, binding),
  );
}

function assertFlat(method: DescMethod, binding: HttpRuleOption): HttpRuleOption {
  if (binding.additionalBindings.length > 0) {
    throw new RouteError(
      { method, template: methodAndTemplate(binding).template },
      "additional bindings may not be nested",
    );
  }
  return binding;
}

function createRule(method: DescMethod, binding: HttpRuleOption): HttpRule {
  const { body, responseBody } = binding;
  const rule = { method, ...methodAndTemplate(binding), body, responseBody };
  if (!methodToken.test(rule.httpMethod)) {
    throw new RouteError(rule, "it names no HTTP method");
  }
  if (body !== "" && (rule.httpMethod === "GET" || rule.httpMethod === "HEAD")) {
    throw new RouteError(rule, `${rule.httpMethod} has no body`);
  }
  return rule;
}

/** The name of an HTTP method, in upper case. Source: RFC 9110, 9.1 and 5.6.2. */
const methodToken = /^[A-Z0-9!#$%&'*+\-.^_`|~]+$/;

function methodAndTemplate({ pattern: { case: kind, value } }: HttpRuleOption): {
  httpMethod: string;
  template: string;
} {
  if (kind === "custom") {
    return { httpMethod: value.kind, template: value.path };
  }
  return kind === undefined ? { httpMethod: "", template: "" } : { httpMethod: kind.toUpperCase(), template: value };
}

/** A `google.api.http` rule cannot be served. It is thrown at start-up, and names the RPC and the template. */
export class RouteError extends Error {
  override readonly name = "RouteError";

  constructor(origin: RuleOrigin, reason: string) {
    super(`${rpcName(origin.method)}: the rule for "${origin.template}" cannot be served: ${reason}.`);
  }
}

/**
 * A path template.
 *
 *     Template  = "/" Segments [ ":" LITERAL ] ;
 *     Segments  = Segment { "/" Segment } ;
 *     Segment   = "*" | "**" | LITERAL | Variable ;
 *     Variable  = "{" FieldPath [ "=" Segments ] "}" ;
 *     FieldPath = IDENT { "." IDENT } ;
 *     IDENT     = ( letter | "_" ) { letter | digit | "_" } ;
 *     LITERAL   = ( unreserved | pct-encoded | sub-delims | "@" ) { … } ;
 *
 * The grammar leaves out two rules: a variable contains no variable, and `**` ends the path.
 *
 * Source: https://github.com/googleapis/googleapis/blob/master/google/api/http.proto; the character classes of
 * LITERAL are those of RFC 3986, 3.3, without ":", which only ever begins the verb, and without "*" and "=".
 */
export interface PathTemplate {
  readonly segments: readonly TemplateSegment[];
  readonly variables: readonly TemplateVariable[];
  /** The text after the `:` at the end; empty when there is none. */
  readonly verb: string;
}

/** `any` is `*`, one segment; `rest` is `**`, all remaining segments, or none. */
export type TemplateSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "any" }
  | { readonly kind: "rest" };

/** Segments whose text becomes a field of the request. */
export interface TemplateVariable {
  /** The proto names of the fields on the way, joined by dots. */
  readonly fieldPath: string;
  /** The index of its first segment. */
  readonly start: number;
  /** The index after its last segment; undefined when that is `**`. */
  readonly end: number | undefined;
  /** Whether it is one `*` or one literal, so that it may hold an encoded slash. */
  readonly isSingle: boolean;
}

/** A path template that does not follow the grammar. `position` counts characters from 0. */
export class PathTemplateError extends Error {
  override readonly name = "PathTemplateError";
  readonly position: number;

  constructor(position: number, reason: string) {
    super(`${reason} at position ${position}`);
    this.position = position;
  }
}

/** Parses a path template. Throws `PathTemplateError`. */
export function parsePathTemplate(text: string): PathTemplate {
  const parser: Parser = { text, position: 0, segments: [], variables: [] };
  parseToken(parser, "/");
  parseSegments(parser, parseSegment);
  const verb = takeToken(parser, ":") ? parseLiteral(parser, "a verb") : "";
  if (parser.position < text.length) {
    throw unexpected(parser, "the end of the template");
  }
  return { segments: parser.segments, variables: parser.variables, verb };
}

interface Parser {
  readonly text: string;
  position: number;
  readonly segments: TemplateSegment[];
  readonly variables: TemplateVariable[];
}

const identifier = /[A-Za-z_][A-Za-z0-9_]*/y;
const literal = /(?:[A-Za-z0-9\-._~!$&'()+,;@]|%[0-9A-Fa-f]{2})+/y;

function parseSegments(parser: Parser, parseOne: (parser: Parser) => void): void {
  do {
    if (parser.segments.at(-1)?.kind === "rest") {
      throw new PathTemplateError(parser.position, "a segment follows **, which must be the last,");
    }
    parseOne(parser);
  } while (takeToken(parser, "/"));
}

function parseSegment(parser: Parser): void {
  if (takeToken(parser, "{")) {
    parseVariable(parser);
  } else {
    parsePlainSegment(parser);
  }
}

function parsePlainSegment(parser: Parser): void {
  if (parser.text[parser.position] === "{") {
    throw new PathTemplateError(parser.position, "a variable stands within a variable");
  }
  if (takeToken(parser, "**")) {
    parser.segments.push({ kind: "rest" });
  } else if (takeToken(parser, "*")) {
    parser.segments.push({ kind: "any" });
  } else {
    parser.segments.push({ kind: "literal", text: parseLiteral(parser, "a segment") });
  }
}

function parseVariable(parser: Parser): void {
  const start = parser.segments.length;
  const fieldPath = parseFieldPath(parser);
  if (takeToken(parser, "=")) {
    parseSegments(parser, parsePlainSegment);
  } else {
    parser.segments.push({ kind: "any" });
  }
  parseToken(parser, "}");
  const endsWithRest = parser.segments.at(-1)?.kind === "rest";
  const end = parser.segments.length;
  parser.variables.push({
    fieldPath,
    start,
    end: endsWithRest ? undefined : end,
    isSingle: end === start + 1 && !endsWithRest,
  });
}

function parseFieldPath(parser: Parser): string {
  const names: string[] = [];
  do {
    names.push(parsePattern(parser, identifier, "a field name"));
  } while (takeToken(parser, "."));
  return names.join(".");
}

function parseLiteral(parser: Parser, expected: string): string {
  return parsePattern(parser, literal, expected);
}

function parsePattern(parser: Parser, pattern: RegExp, expected: string): string {
  pattern.lastIndex = parser.position;
  const match = pattern.exec(parser.text)?.[0];
  if (match === undefined) {
    throw unexpected(parser, expected);
  }
  parser.position += match.length;
  return match;
}

function parseToken(parser: Parser, token: string): void {
  if (!takeToken(parser, token)) {
    throw unexpected(parser, `"${token}"`);
  }
}

function takeToken(parser: Parser, token: string): boolean {
  const found = parser.text.startsWith(token, parser.position);
  parser.position += found ? token.length : 0;
  return found;
}

function unexpected(parser: Parser, expected: string): PathTemplateError {
  const found = parser.text[parser.position];
  return new PathTemplateError(
    parser.position,
    `expected ${expected}, found ${found === undefined ? "the end" : `"${found}"`}`,
  );
}
