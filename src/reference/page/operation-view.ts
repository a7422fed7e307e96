import { STATUS_CODES } from "node:http";
import { eventsOf, isFree } from "../../interceptors/operation.ts";
import { escapeHtml } from "../assets/html.js";
import { codeBlock, inline, operationBadge, paragraphs, sampleTabs, statusBadge } from "../html/elements.ts";
import {
  contentExample,
  contentSchema,
  type OpenApiDocument,
  type OpenApiErrorReason,
  responseOf,
} from "../openapi/document.ts";
import { callableOf, exampleCall, exampleInput, type OperationEntry } from "../openapi/operations.ts";
import { parameterLists, requestBody, schemaFields } from "./fields.ts";

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
