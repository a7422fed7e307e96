import { rpcName } from "../../src/rpc/endpoint.ts";
import type { BoundMethod } from "./operation.ts";
import { pathParameterName } from "./parameters.ts";

/** The base address, relative to wherever a description is read: paths are relative to it. */
export const basePath = "/v1";

/** The path of a rule, as OpenAPI writes it. Throws an `Error` for a path that OpenAPI cannot express. */
export function pathOf({ method, rule, template }: BoundMethod): string {
  if (!rule.template.startsWith(`${basePath}/`) || rule.httpMethod === "*") {
    throw new Error(`${rpcName(method)}: ${rule.httpMethod} ${rule.template} cannot be told from ${basePath}`);
  }
  const names = new Map(template.variables.map((variable) => [variable.start, variable]));
  const segments = template.segments.map((segment, index) => {
    const variable = names.get(index);
    if (variable?.isSingle) {
      return `{${pathParameterName(method.input, variable.fieldPath)}}`;
    }
    if (segment.kind !== "literal") {
      throw new Error(`${rpcName(method)}: ${rule.template} takes more than one segment for a parameter`);
    }
    return segment.text;
  });
  const verb = template.verb === "" ? "" : `:${template.verb}`;
  return `/${segments.join("/")}${verb}`.slice(basePath.length);
}
