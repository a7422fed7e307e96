import { inline, paragraphs } from "../html/inline-html.ts";
import { enumMeanings, type OpenApiDocument, type OpenApiSchema, schemaOf } from "../openapi/view.ts";

/** Whether a schema is sent or returned. Fields of a request may be required; those of a response may be absent. */
export type Direction = "request" | "response";

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
export function typeOf(document: OpenApiDocument, schema: OpenApiSchema): string {
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
export function enumValues(document: OpenApiDocument, schema: OpenApiSchema): string {
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
