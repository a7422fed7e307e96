import { operationBadge } from "./badge.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { sampleTabs } from "./operation-sample.ts";

/** What `assets/template.js` puts into the operations on the page: the badge of each, and its code samples. */
export function operationTemplates(operations: readonly OperationEntry[], baseUrl: string): string {
  return operations
    .flatMap((entry) => [
      `<template id="badge-${entry.operation.operationId}">${operationBadge(entry.operation)}</template>`,
      `<template id="samples-${entry.operation.operationId}">${sampleTabs(entry, baseUrl)}</template>`,
    ])
    .join("\n");
}
