import { escapeHtml } from "../assets/html.js";
import { exampleInput } from "../openapi/operation-call.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import { type OpenApiDocument, type OpenApiParameter, schemaOf } from "../openapi/view.ts";
import { paragraphs } from "./prose.ts";
import { enumValues, typeOf } from "./schema-fields.ts";

const places = { path: "Path parameters", query: "Query parameters", header: "Headers" } as const;

/** The parameters of an operation by their places, as HTML, with a control for each where it can be tried. */
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

/** Numbers are entered as text: a field for numbers would lose the digits of 64-bit integers. */
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
