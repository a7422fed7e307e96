import { escapeHtml } from "../assets/html.js";
import { exampleInput } from "../openapi/operation-call.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import type { OpenApiDocument } from "../openapi/view.ts";
import { paragraphs } from "./prose.ts";
import { schemaFields } from "./schema-fields.ts";

/** The body of an operation's requests as HTML, with a place to write one where it can be tried; empty for none. */
export function requestBody(document: OpenApiDocument, { id, operation }: OperationEntry): string {
  const body = operation.requestBody;
  const schema = body?.content["application/json"]?.schema;
  if (body === undefined || schema === undefined) {
    return "";
  }
  const example = exampleInput(operation).body ?? "";
  const entry =
    `<div class="entry" data-field="body"><label for="${id}-body">JSON to send</label>` +
    `<textarea id="${id}-body" name="body" rows="3" autocomplete="off" spellcheck="false">${escapeHtml(example)}</textarea></div>`;
  return (
    `<h4>Body <span class="type">application/json</span></h4>${paragraphs(body.description)}` +
    `${schemaFields(document, schema, "request")}${operation["x-try-it-out"] ? entry : ""}`
  );
}
