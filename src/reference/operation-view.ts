import { STATUS_CODES } from "node:http";
import { eventsOf, isFree } from "../interceptors/operation.ts";
import { escapeHtml } from "./assets/html.js";
import { codeBlock, inline, operationBadge, paragraphs, sampleTabs, statusBadge } from "./elements.ts";
import {
  contentExample,
  contentSchema,
  enumMeanings,
  type OpenApiDocument,
  type OpenApiErrorReason,
  type OpenApiParameter,
  type OpenApiSchema,
  responseOf,
  schemaOf,
} from "./openapi.ts";
import { callableOf, exampleCall, exampleInput, type OperationEntry } from "./operations.ts";

/** The data that all operations are rendered with. */
export interface OperationContext {
  readonly document: OpenApiDocument;
  /** All operations of the API. */
  readonly operations: readonly OperationEntry[];
  /** The address that the code samples call. */
  readonly baseUrl: string;
}

/** An operation as HTML: its parameters and responses on the left, a sample call on the right. */
export function operationView(entry: OperationEntry, context: OperationContext): string {
  const { id, title } = entry;
  return (
    `<section class="operation split" id="${id}" aria-label="${title}"${isFree(entry.rpc) ? " data-free" : ""} data-call="${escapeHtml(JSON.stringify(callableOf(entry)))}">` +
    `${form(entry, explanation(entry, context))}` +
    `<div class="shown">${request(entry, context)}<div class="answer" hidden></div>` +
    `${responseExample(context.document, entry)}</div>` +
    `<div class="outcome">${outcome(entry, context)}</div></section>`
  );
}

/** An operation that cannot be tried has no form. Its samples keep the example values. */
function form({ id, operation }: OperationEntry, html: string): string {
  return operation["x-try-it-out"]
    ? `<form class="explained" id="${id}-form" novalidate>${html}</form>`
    : `<div class="explained" data-input="${escapeHtml(JSON.stringify(exampleInput(operation)))}">${html}</div>`;
}

/** The responses and errors. On a narrow screen they come after the sample call. */
function outcome(entry: OperationEntry, { document, operations }: OperationContext): string {
  return returns(document, entry) + operationErrors(document, entry, operations);
}

function explanation(entry: OperationEntry, { document }: OperationContext): string {
  const { id, title, operation } = entry;
  return [
    `<h3><a class="anchor" href="#${id}">${title}</a> ${operationBadge(operation)}</h3>`,
    `<p class="lead">${inline(operation.summary)}.</p>`,
    description(entry),
    facts(entry),
    parameterLists(document, entry),
    requestBody(document, entry),
  ].join("");
}

/** The description of a deprecated operation is highlighted: it says what to use instead. */
function description({ operation }: OperationEntry): string {
  const html = paragraphs(operation.description ?? "");
  return operation.deprecated === true
    ? `<div class="callout">${html}<p><a href="#versioning-and-stability-deprecation-and-sunset">How deprecation works</a></p></div>`
    : html;
}

function facts({ operation, rpc }: OperationEntry): string {
  const scope = operation["x-scope"];
  const rows = [
    ["Scope", scope === undefined ? "none: any key will do" : `<code>${scope}</code>`],
    ["Cost", isFree(rpc) ? "free of charge" : "1 request"],
    ["RPC", `<code>${operation["x-rpc"].replace(/[./]/g, "$&<wbr>")}</code>`],
  ];
  return `<dl class="facts">${rows.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join("")}</dl>`;
}

/** The successful responses. */
function returns(document: OpenApiDocument, { operation }: OperationEntry): string {
  const parts = Object.entries(operation.responses)
    .filter(([status]) => Number(status) < 400)
    .map(([status, reference]) => {
      const response = responseOf(document, reference);
      const schema = contentSchema(response);
      const fields = schema === undefined ? "" : schemaFields(document, schema, "response");
      return `<div class="returned"><span class="status s${status[0]}">${status}</span> ${inline(response.description)}</div>${fields}`;
    });
  return `<h4>Returns</h4>${parts.join("")}`;
}

function request(entry: OperationEntry, { baseUrl }: OperationContext): string {
  const { id, method, path, operation, rpc } = entry;
  const send = operation["x-try-it-out"]
    ? `<div class="bar send"><p class="sender" role="status"></p><button type="submit" form="${id}-form" class="primary">${eventsOf(rpc) === undefined ? "Send" : "Watch"}</button></div>`
    : `<p class="bar untriable">This operation cannot be sent from this page.</p>`;
  return (
    `<div class="panel request"><div class="bar"><span class="method ${method.toLowerCase()}">${method}</span>` +
    `<code class="path">${path.replaceAll("/", "<wbr>/")}</code></div>${sampleTabs(id, exampleCall(entry, baseUrl))}${send}</div>`
  );
}

/** The successful response, and a choice of all others as HTML. `assets/example.js` shows the one that is chosen. */
function responseExample(document: OpenApiDocument, { id, operation }: OperationEntry): string {
  const examples = Object.entries(operation.responses).flatMap(([status, response]) => {
    const resolved = responseOf(document, response);
    const example = contentExample(resolved);
    const own = example === undefined ? [] : [{ status, name: "", body: example }];
    const failures = Object.entries(resolved.content?.["application/json"]?.examples ?? {}).map(
      ([name, { value }]) => ({ status, name, body: value }),
    );
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

/** The text of a stream is as it is sent. */
function writeBody(body: unknown): string {
  return typeof body === "string" ? body.trimEnd() : JSON.stringify(body, undefined, 2);
}

/** The errors of an operation, as HTML. Those that all operations share are collapsed. */
function operationErrors(document: OpenApiDocument, entry: OperationEntry, all: readonly OperationEntry[]): string {
  const codesOfOthers = all.map((other) => new Set(reasonsOf(document, other).map(({ code }) => code)));
  const [common, special] = partition(reasonsOf(document, entry), ({ code }) =>
    codesOfOthers.every((codes) => codes.has(code)),
  );
  return (
    `<h4 id="${entry.id}-errors">Errors</h4>${reasonList(special)}` +
    `<details class="common"><summary>${common.length} errors that every operation can answer</summary>${reasonList(common)}</details>`
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

function reasonList(reasons: readonly OpenApiErrorReason[]): string {
  const items = reasons.map(
    ({ code, status, meaning }) =>
      `<li>${statusBadge(status)} <a href="#${code}"><code>${code}</code></a><span class="meaning">${inline(meaning)}</span></li>`,
  );
  return items.length === 0 ? "" : `<ul class="reasons">${items.join("")}</ul>`;
}

function partition<T>(items: readonly T[], holds: (item: T) => boolean): [T[], T[]] {
  return [items.filter(holds), items.filter((item) => !holds(item))];
}

const places = { path: "Path parameters", query: "Query parameters", header: "Headers" } as const;

/** The parameters of an operation by place, as HTML. Each has a control if the operation can be tried. */
function parameterLists(document: OpenApiDocument, entry: OperationEntry): string {
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
function requestBody(document: OpenApiDocument, { id, operation }: OperationEntry): string {
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
  const hint = required === true ? "" : items === undefined ? "not sent" : "not sent, or 1, 2, …";
  const attributes = [
    `id="${id}-${name}" name="${name}"`,
    `aria-label="${name}" placeholder="${hint}"`,
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
function schemaFields(document: OpenApiDocument, schema: OpenApiSchema, direction: Direction): string {
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
