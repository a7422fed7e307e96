import { inline, statusBadge } from "../html/inline-html.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import { type OpenApiDocument, type OpenApiErrorReason, responseOf } from "../openapi/view.ts";

/** The errors of an operation, as HTML. Those that all operations share are collapsed. */
export function operationErrors(
  document: OpenApiDocument,
  entry: OperationEntry,
  all: readonly OperationEntry[],
): string {
  const codesOfOthers = all.map((other) => new Set(reasonsOf(document, other).map(({ code }) => code)));
  const [common, special] = partition(reasonsOf(document, entry), ({ code }) =>
    codesOfOthers.every((codes) => codes.has(code)),
  );
  return (
    `<h4 id="${entry.id}-errors">Errors</h4>${list(special)}` +
    `<details class="common"><summary>${common.length} errors that every operation can answer</summary>${list(common)}</details>`
  );
}

/** The reasons for which an operation can fail, by status. */
function reasonsOf(document: OpenApiDocument, { operation }: OperationEntry): OpenApiErrorReason[] {
  const codes = Object.values(operation.responses).flatMap((response) => {
    const { examples = {} } = responseOf(document, response).content?.["application/json"] ?? {};
    return Object.keys(examples);
  });
  return document["x-error-reasons"].filter(({ code }) => codes.includes(code)).sort((a, b) => a.status - b.status);
}

function list(reasons: readonly OpenApiErrorReason[]): string {
  const items = reasons.map(
    ({ code, status, meaning }) =>
      `<li>${statusBadge(status)} <a href="#${code}"><code>${code}</code></a><span class="meaning">${inline(meaning)}</span></li>`,
  );
  return items.length === 0 ? "" : `<ul class="reasons">${items.join("")}</ul>`;
}

function partition<T>(items: readonly T[], holds: (item: T) => boolean): [T[], T[]] {
  return [items.filter(holds), items.filter((item) => !holds(item))];
}
