import type { OpenApiOperation } from "./openapi-view.ts";

/** The markers of an operation, as HTML: its stability, and its deprecation with the date of its sunset. */
export function operationBadges({ deprecated, ...operation }: OpenApiOperation): string {
  const stability = operation["x-stability"];
  const sunset = operation["x-sunset"];
  const markers =
    deprecated === true ? [badge("deprecated", `deprecated · sunset ${sunset}`)] : [badge(stability, stability)];
  return markers.join(" ");
}

function badge(kind: string, text: string): string {
  return `<span class="badge ${kind}">${text}</span>`;
}
