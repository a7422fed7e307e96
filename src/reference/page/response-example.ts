import { STATUS_CODES } from "node:http";
import { escapeHtml } from "../assets/html.js";
import type { OperationEntry } from "../openapi/operations.ts";
import { type OpenApiDocument, responseOf } from "../openapi/view.ts";
import { codeBlock } from "./code-block.ts";

/**
 * What an operation answers, as HTML: the successful answer, and a choice of all others, which `assets/example.js` puts
 * in its place.
 */
export function responseExample(document: OpenApiDocument, { id, operation }: OperationEntry): string {
  const examples = Object.entries(operation.responses).flatMap(([status, response]) => {
    const media = responseOf(document, response).content?.["application/json"];
    const own = media?.example === undefined ? [] : [{ status, name: "", body: media.example }];
    const failures = Object.entries(media?.examples ?? {}).map(([name, { value }]) => ({ status, name, body: value }));
    return [...own, ...failures];
  });
  const options = examples.map(
    ({ status, name, body }) =>
      `<option value="${escapeHtml(writeBody(body))}">${status} ${name || STATUS_CODES[Number(status)]}</option>`,
  );
  return (
    `<div class="panel example"><div class="bar"><label for="${id}-example">Response</label>` +
    `<select id="${id}-example" autocomplete="off">${options.join("")}</select></div>${codeBlock(writeBody(examples[0]?.body), "json")}</div>`
  );
}

function writeBody(body: unknown): string {
  return JSON.stringify(body, undefined, 2);
}
