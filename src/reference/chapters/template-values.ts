import { petNotFound } from "../../domain/errors.ts";
import { anonymousLimit, refusalsForBan } from "../../domain/limits.ts";
import { deprecationHeaders } from "../../interceptors/deprecation.ts";
import { errorToRest, toConnectError } from "../../interceptors/errors.ts";
import { isFree, operationOf } from "../../interceptors/operation.ts";
import { keyVariable, type SampleCall } from "../assets/samples/call.js";
import { writeConnectGet, writeConnectPost } from "../assets/samples/connect.js";
import { writeCurl } from "../assets/samples/curl.js";
import { writeGrpcurl, writeReflection } from "../assets/samples/grpc.js";
import { codeBlock, codeBlocks, inline, operationBadge, statusBadge } from "../elements.ts";
import type { ApiServer, OpenApiDocument, OpenApiErrorReason } from "../openapi.ts";
import { entryOf, exampleCall, type OperationEntry } from "../operations.ts";
import type { TemplateValues } from "./chapter.ts";
import { operationLink, writeTable } from "./markdown.ts";
import {
  banTable,
  exceedingSample,
  limitHeaderTable,
  planTable,
  refusalExample,
  stockFacts,
  stockSamples,
} from "./samples.ts";

/** The data from which the chapters are filled in. */
export interface DocsInput {
  readonly document: OpenApiDocument;
  readonly operations: readonly OperationEntry[];
  readonly servers: readonly ApiServer[];
  /** The base URL of the code samples. */
  readonly baseUrl: string;
}

/** The values of all placeholders in the chapters. */
export function templateValues(input: DocsInput): TemplateValues {
  const { document, operations, servers, baseUrl } = input;
  const [list, update] = [entryOf("listInventory", operations), entryOf("updateInventory", operations)];
  const [listCall, updateCall] = [exampleCall(list, baseUrl), exampleCall(update, baseUrl)];
  const refusal = refusalExample(String(document.components.headers["X-Request-Id"]?.example));
  return {
    markdown: {
      plans: planTable(),
      bans: banTable(),
      "fewest-refusals": String(refusalsForBan({ perMinute: 1, perDay: 1 })),
      "limit-headers": limitHeaderTable(document),
      operations: stabilityTable(operations),
      scopes: scopeTable(operations),
      "free-operations": freeOperations(operations),
      rpcs: rpcTable(operations),
      "anonymous-limit": String(anonymousLimit),
      "refusal-limit": String(refusal.limit),
      "refusal-wait": String(refusal.waitSeconds),
      "refusal-reset": String(refusal.resetSeconds),
      "refusal-time": refusal.resetTime,
      ...stockFacts(input),
    },
    code: {
      servers: codeBlocks(
        servers.map(({ name, url }) => ({ label: `Base address: ${name}`, code: url })),
        "text",
      ),
      "quick-start": quickStart(listCall, list),
      "error-body": codeBlock(errorExample(), "json"),
      deprecation: deprecationExample(operations),
      "sample-grpcurl": codeBlocks(
        [
          { label: "List and describe", code: writeReflection(listCall) },
          { label: "Call", code: writeGrpcurl(updateCall) },
        ],
        "sh",
      ),
      "sample-connect": codeBlocks(
        [
          { label: "POST", code: writeConnectPost(updateCall) },
          { label: "GET", code: writeConnectGet(listCall) },
        ],
        "sh",
      ),
      "sample-refusal": codeBlock(exceedingSample(listCall, refusal.limit), "sh"),
      "refusal-answer": codeBlock(refusal.answer, "http"),
      ...stockSamples(input),
    },
    wide: { errors: errorList(document) },
  };
}

/** A first request and its answer. */
function quickStart(call: SampleCall, { operation }: OperationEntry): string {
  const response = operation.responses["200"];
  const example =
    response !== undefined && "content" in response ? response.content?.["application/json"]?.example : [];
  return codeBlocks(
    [{ label: "In your shell", code: `export ${keyVariable}=psk_…\n\n${writeCurl(call)}` }],
    "sh",
  ).concat(codeBlocks([{ label: "The answer", code: JSON.stringify(example, undefined, 2) }], "json"));
}

/** The operations and their stability, as a Markdown table. */
function stabilityTable(entries: readonly OperationEntry[]): string {
  return writeTable(
    ["Operation", "Stability"],
    entries.map((entry) => [operationLink(entry), operationBadge(entry.operation)]),
  );
}

/** The operations and the scopes that they need, as a Markdown table. */
function scopeTable(entries: readonly OperationEntry[]): string {
  return writeTable(
    ["Operation", "Scope"],
    entries.map((entry) => [operationLink(entry), scopeOf(entry)]),
  );
}

function scopeOf({ operation: { "x-scope": scope } }: OperationEntry): string {
  return scope === undefined ? "none" : `\`${scope}\``;
}

/** The operations and the paths of their RPCs, as a Markdown table. */
function rpcTable(entries: readonly OperationEntry[]): string {
  return writeTable(
    ["REST", "RPC"],
    entries.map((entry) => [
      operationLink(entry),
      `<code>${entry.operation["x-rpc"].replace(/[./]/g, "$&<wbr>")}</code>`,
    ]),
  );
}

/** The operations that do not count against limits, as Markdown links. */
function freeOperations(entries: readonly OperationEntry[]): string {
  return entries
    .filter(({ rpc }) => isFree(rpc))
    .map(operationLink)
    .join(", ");
}

/** All error codes with their meaning and remedy, as HTML. Each has its name as an anchor. */
function errorList(document: OpenApiDocument): string {
  return `<div class="errors">${document["x-error-reasons"].map(writeReason).join("\n")}</div>`;
}

function writeReason({ code, status, canonical, meaning, remedy }: OpenApiErrorReason): string {
  return (
    `<div class="error" id="${code}"><h4><a class="anchor" href="#${code}">${code}</a></h4>` +
    `<p class="statuses">${statusBadge(status)} <span class="canonical">${canonical}</span></p>` +
    `<p>${inline(meaning)}</p><p>${inline(remedy)}</p></div>`
  );
}

/** The body of an error answer, as the service writes it, indented. */
function errorExample(): string {
  return JSON.stringify(errorToRest(toConnectError(petNotFound(7n))).body, undefined, 2);
}

/** The headers of the first deprecated operation, as HTML; or a sentence that there is none. */
function deprecationExample(entries: readonly OperationEntry[]): string {
  for (const { rpc } of entries) {
    const deprecation = operationOf(rpc)?.deprecation;
    if (deprecation !== undefined) {
      const lines = Object.entries(deprecationHeaders(rpc, deprecation)).map(([name, value]) => `${name}: ${value}`);
      return codeBlock(lines.join("\n"), "http");
    }
  }
  return "<p>No operation is deprecated at present.</p>";
}
