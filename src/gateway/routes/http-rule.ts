import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import type { HttpRule as HttpRuleOption } from "../../../gen/google/api/http_pb.ts";
import { rpcName } from "../../rpc/endpoint.ts";

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
    throw new RouteError({ method, template: pattern(binding).template }, "additional bindings may not be nested");
  }
  return binding;
}

function createRule(method: DescMethod, binding: HttpRuleOption): HttpRule {
  const { body, responseBody } = binding;
  const rule = { method, ...pattern(binding), body, responseBody };
  if (!token.test(rule.httpMethod)) {
    throw new RouteError(rule, "it names no HTTP method");
  }
  if (body !== "" && (rule.httpMethod === "GET" || rule.httpMethod === "HEAD")) {
    throw new RouteError(rule, `${rule.httpMethod} has no body`);
  }
  return rule;
}

/** The name of an HTTP method, in upper case. Source: RFC 9110, 9.1 and 5.6.2. */
const token = /^[A-Z0-9!#$%&'*+\-.^_`|~]+$/;

function pattern({ pattern: { case: kind, value } }: HttpRuleOption): { httpMethod: string; template: string } {
  if (kind === "custom") {
    return { httpMethod: value.kind, template: value.path };
  }
  return kind === undefined ? { httpMethod: "", template: "" } : { httpMethod: kind.toUpperCase(), template: value };
}

/** The RPC of a rule, and its path template as written. */
interface RuleOrigin {
  readonly method: DescMethod;
  readonly template: string;
}

/** A `google.api.http` rule cannot be served. It is thrown at start-up, and names the RPC and the template. */
export class RouteError extends Error {
  override readonly name = "RouteError";

  constructor(origin: RuleOrigin, reason: string) {
    super(`${rpcName(origin.method)}: the rule for "${origin.template}" cannot be served: ${reason}.`);
  }
}
