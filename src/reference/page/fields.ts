import { escapeHtml } from "../assets/html.js";
import { inline, paragraphs } from "../html/elements.ts";
import {
  enumMeanings,
  type OpenApiDocument,
  type OpenApiParameter,
  type OpenApiSchema,
  schemaOf,
} from "../openapi/document.ts";
import { exampleInput, type OperationEntry } from "../openapi/operations.ts";

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

/** Whether a schema is sent or returned. Fields of a request may be required; those of a response may be absent. */
type Direction = "request" | "response";

/** The fields of an object, or of the objects in a list, as HTML. Nested fields are collapsed. */
export function schemaFields(document: OpenApiDocument, schema: OpenApiSchema, direction: Direction): string {
  const { properties = {}, required = [] } = schemaOf(document, elementOf(document, schema));
  const items = Object.entries(properties).map(([name, property]) => {
    const resolved = schemaOf(document, property);
    const isRequired = required.includes(name);
    const note = isRequired === (direction === "request") ? noteOf(direction) : "";
    return (
      `<li class="field"><div class="name"><code>${name}</code> <span class="type">${typeOf(document, property)}</span>${note}</div>` +
      `${paragraphs(property.description ?? resolved.description ?? "")}${enumValues(document, property)}` +
      `${inner(document, property, direction)}</li>`
    );
  });
  return items.length === 0 ? "" : `<ul class="fields">${items.join("")}</ul>`;
}

/** The type of a value, such as `integer · int64` or `list of Order`. */
function typeOf(document: OpenApiDocument, schema: OpenApiSchema): string {
  const { type, format, items, enum: values } = schemaOf(document, schema);
  if (items !== undefined) {
    const name = items.$ref?.slice(items.$ref.lastIndexOf("/") + 1);
    return `list of ${schemaOf(document, items).enum === undefined ? (name ?? typeOf(document, items)) : "enum"}`;
  }
  if (values !== undefined) {
    return "enum";
  }
  return format === undefined ? `${type}` : `${type} · ${format}`;
}

/** The values of an enum, or of a list of enums, with their meanings, as HTML. */
function enumValues(document: OpenApiDocument, schema: OpenApiSchema): string {
  const { enum: values } = schemaOf(document, elementOf(document, schema));
  if (values === undefined) {
    return "";
  }
  const meanings = enumMeanings(documentedEnum(document, schema));
  // Values without meanings, such as error codes, are described elsewhere.
  if (meanings.size === 0) {
    return "";
  }
  const items = values.map((value) => `<li><code>${value}</code> ${inline(meanings.get(value) ?? "")}</li>`);
  return `<ul class="values">${items.join("")}</ul>`;
}

function documentedEnum(document: OpenApiDocument, schema: OpenApiSchema): string {
  const { $ref } = schema.items ?? schema;
  return $ref === undefined ? (schema.description ?? "") : (schemaOf(document, { $ref }).description ?? "");
}

function elementOf(document: OpenApiDocument, schema: OpenApiSchema): OpenApiSchema {
  return schemaOf(document, schema).items ?? schema;
}

function inner(document: OpenApiDocument, schema: OpenApiSchema, direction: Direction): string {
  const fields = schemaFields(document, schema, direction);
  return fields === "" ? "" : `<details class="inner"><summary>Fields</summary>${fields}</details>`;
}

function noteOf(direction: Direction): string {
  return direction === "request"
    ? ' <span class="required">required</span>'
    : ' <span class="optional">may be absent</span>';
}
