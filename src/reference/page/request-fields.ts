import { escapeHtml } from "../assets/html.js";
import { paragraphs } from "../html/inline-html.ts";
import { exampleInput } from "../openapi/operation-call.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import { type OpenApiDocument, type OpenApiParameter, schemaOf } from "../openapi/view.ts";
import { enumValues, schemaFields, typeOf } from "./schema-fields.ts";

const places = { path: "Path parameters", query: "Query parameters", header: "Headers" } as const;

/** The parameters of an operation by place, as HTML. Each has a control if the operation can be tried. */
export function parameterLists(document: OpenApiDocument, entry: OperationEntry): string {
  const { parameters = [] } = entry.operation;
  return Object.entries(places)
    .map(([place, title]) => {
      const items = parameters
        .filter((parameter) => parameter.in === place)
        .map((parameter) => writeParameter(document, entry, parameter));
      return items.length === 0 ? "" : `<h4>${title}</h4><ul class="fields parameters">${items.join("")}</ul>`;
    })
    .join("");
}

/** The request body of an operation as HTML, with a text area if the operation can be tried; empty without a body. */
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

function writeParameter(document: OpenApiDocument, entry: OperationEntry, parameter: OpenApiParameter): string {
  const { name, description, required, schema } = parameter;
  const type = `<span class="type">${typeOf(document, schema)}</span>`;
  const note = required === true ? ' <span class="required">required</span>' : "";
  return (
    `<li class="field" data-field="${name}"><div class="about"><div class="name"><code>${name}</code> ${type}${note}</div>` +
    `${paragraphs(description)}${enumValues(document, schema)}</div>` +
    `${entry.operation["x-try-it-out"] ? `<div class="entry">${control(document, entry, parameter)}</div>` : ""}</li>`
  );
}

/** Numbers are entered as text, because a number field would lose digits of 64-bit integers. */
function control(document: OpenApiDocument, { id, operation }: OperationEntry, parameter: OpenApiParameter): string {
  const { name, schema, required } = parameter;
  const { type, items } = schemaOf(document, schema);
  const values = items === undefined ? undefined : schemaOf(document, items).enum;
  if (values !== undefined) {
    const boxes = values.map(
      (value) => `<label><input type="checkbox" name="${name}" value="${value}">${value}</label>`,
    );
    return `<fieldset class="boxes"><legend class="unseen">${name}</legend>${boxes.join("")}</fieldset>`;
  }
  const attributes = [
    `id="${id}-${name}" name="${name}"`,
    `aria-label="${name}" placeholder="${required === true ? "" : "not sent"}"`,
    `autocomplete="off" spellcheck="false"`,
    ...(type === "integer" ? ['inputmode="numeric"'] : []),
    ...(required === true ? ['aria-required="true"'] : []),
    `value="${escapeHtml(exampleInput(operation).values[name]?.[0] ?? "")}"`,
  ];
  return `<input type="text" ${attributes.join(" ")}>`;
}
