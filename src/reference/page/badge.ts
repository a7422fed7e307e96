import type { OpenApiOperation } from "../openapi/view.ts";

/** The marker of an operation, as HTML: its stability, or its deprecation with the date of its sunset. */
export function operationBadge(operation: OpenApiOperation): string {
  const stability = operation["x-stability"];
  return operation.deprecated === true
    ? badge("deprecated", `deprecated · sunset ${operation["x-sunset"]}`)
    : badge(stability, stability);
}

function badge(kind: string, text: string): string {
  return `<span class="badge ${kind}">${text}</span>`;
}
