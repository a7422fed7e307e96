import { toSlug } from "../chapters/markdown.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import type { OpenApiDocument } from "../openapi/view.ts";

/** The operations that belong together, under a title for people. */
export interface OperationGroup {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly entries: readonly OperationEntry[];
}

/** The operations by their first tag, in the order of the tags. */
export function groupOperations({ tags }: OpenApiDocument, entries: readonly OperationEntry[]): OperationGroup[] {
  return tags.map(({ name, "x-displayName": title, description }) => ({
    id: toSlug(title),
    title,
    description,
    entries: entries.filter(({ operation }) => operation.tags[0] === name),
  }));
}
