import { isFree } from "../../interceptors/operation.ts";
import { escapeHtml } from "../assets/html.js";
import { callableOf, exampleCall, exampleInput } from "../openapi/operation-call.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import { type OpenApiDocument, responseOf } from "../openapi/view.ts";
import { operationBadge } from "./badge.ts";
import { operationErrors } from "./operation-errors.ts";
import { parameterLists } from "./parameter-list.ts";
import { inline, paragraphs } from "./prose.ts";
import { requestBody } from "./request-body.ts";
import { responseExample } from "./response-example.ts";
import { sampleTabs } from "./sample-tabs.ts";
import { schemaFields } from "./schema-fields.ts";

/** What operations are shown with. */
export interface OperationSurroundings {
  readonly document: OpenApiDocument;
  /** All operations of the API. */
  readonly operations: readonly OperationEntry[];
  /** The address that the code samples call. */
  readonly baseUrl: string;
}

/** An operation as HTML: on the left what it takes and answers, on the right a call of it, which can be sent. */
export function operationView(entry: OperationEntry, surroundings: OperationSurroundings): string {
  const { id, title } = entry;
  return (
    `<section class="operation split" id="${id}" aria-label="${title}"${isFree(entry.rpc) ? " data-free" : ""} data-call="${escapeHtml(JSON.stringify(callableOf(entry)))}">` +
    `${form(entry, explanation(entry, surroundings))}` +
    `<div class="shown">${request(entry, surroundings)}<div class="answer" hidden></div>` +
    `${responseExample(surroundings.document, entry)}</div>` +
    `<div class="outcome">${outcome(entry, surroundings)}</div></section>`
  );
}

/** What cannot be tried has nothing to be entered: its samples keep their examples. */
function form({ id, operation }: OperationEntry, html: string): string {
  return operation["x-try-it-out"]
    ? `<form class="explained" id="${id}-form" novalidate>${html}</form>`
    : `<div class="explained" data-input="${escapeHtml(JSON.stringify(exampleInput(operation)))}">${html}</div>`;
}

/** What comes of a call. On a narrow screen the call itself stands before it. */
function outcome(entry: OperationEntry, { document, operations }: OperationSurroundings): string {
  return returns(document, entry) + operationErrors(document, entry, operations);
}

function explanation(entry: OperationEntry, { document }: OperationSurroundings): string {
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

/** What is said of a deprecated operation is above all that it is so, and what to use instead. */
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

/** The answers that are none of the errors. */
function returns(document: OpenApiDocument, { operation }: OperationEntry): string {
  const parts = Object.entries(operation.responses)
    .filter(([status]) => Number(status) < 400)
    .map(([status, reference]) => {
      const response = responseOf(document, reference);
      const schema = response.content?.["application/json"]?.schema;
      const fields = schema === undefined ? "" : schemaFields(document, schema, "response");
      return `<div class="returned"><span class="status s${status[0]}">${status}</span> ${inline(response.description)}</div>${fields}`;
    });
  return `<h4>Returns</h4>${parts.join("")}`;
}

function request(entry: OperationEntry, { baseUrl }: OperationSurroundings): string {
  const { id, method, path, operation } = entry;
  const send = operation["x-try-it-out"]
    ? `<div class="bar send"><p class="sender" role="status"></p><button type="submit" form="${id}-form" class="primary">Send</button></div>`
    : `<p class="bar untriable">This operation cannot be sent from this page.</p>`;
  return (
    `<div class="panel request"><div class="bar"><span class="method ${method.toLowerCase()}">${method}</span>` +
    `<code class="path">${path.replaceAll("/", "<wbr>/")}</code></div>${sampleTabs(id, exampleCall(entry, baseUrl))}${send}</div>`
  );
}
