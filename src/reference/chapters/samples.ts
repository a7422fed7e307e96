import { STATUS_CODES } from "node:http";
import { heartbeatMs } from "../../domain/history.ts";
import { defaultHoldMs } from "../../domain/hold.ts";
import { idempotencyMs } from "../../domain/idempotency.ts";
import { plans } from "../../domain/key.ts";
import {
  banLengthsMs,
  type DecisionWithUsage,
  decide,
  noUsage,
  planQuotas,
  type RateLimitDecision,
} from "../../domain/limits.ts";
import {
  deliveryTimeoutMs,
  firstWaitMs,
  formerSecretMs,
  longestWaitMs,
  maxDeliveredChanges,
  pausedAfterMs,
} from "../../domain/webhook.ts";
import { retryMs } from "../../gateway/stream.ts";
import { requestIdHeader } from "../../http/exchange.ts";
import { HeaderList } from "../../http/header-list.ts";
import { errorToRest, toConnectError } from "../../interceptors/errors.ts";
import { appendLimits, limitError } from "../../interceptors/limits.ts";
import { operationOf } from "../../interceptors/operation.ts";
import { maxStreamsOfKey } from "../../interceptors/streams.ts";
import { type CallInput, createCall, type SampleCall } from "../assets/samples/call.js";
import { writeCurl } from "../assets/samples/curl.js";
import { authorization, joinLines } from "../assets/samples/shell.js";
import { writeTypeScript } from "../assets/samples/typescript.js";
import { codeBlock, codeBlocks } from "../elements.ts";
import { contentExample, enumMeanings, type OpenApiDocument, type OpenApiSchema, responseOf } from "../openapi.ts";
import { callableOf, entryOf, exampleInput, type OperationEntry } from "../operations.ts";
import { operationLink, writeLength, writeNumber, writeTable } from "./markdown.ts";
import type { DocsInput } from "./template-values.ts";

/** The plans and their quotas, as a Markdown table. */
export function planTable(): string {
  const quotas: Readonly<Partial<Record<string, { perMinute: number; perDay: number }>>> = planQuotas;
  const rows = plans.map((plan) => {
    const quota = quotas[plan];
    const numbers = quota === undefined ? ["custom", "custom"] : [quota.perMinute, quota.perDay].map(writeNumber);
    return [`${plan[0]?.toUpperCase()}${plan.slice(1)}`, ...numbers];
  });
  return writeTable(["Plan", "Requests a minute", "Requests a day"], rows, ["---", "---:", "---:"]);
}

/** The headers of a refusal that describe the limits, as a Markdown table. */
export function limitHeaderTable({ components }: OpenApiDocument): string {
  const names = Object.keys(components.responses.TooManyRequests?.headers ?? {});
  const rows = names
    .filter((name) => /RateLimit|^Retry-After$/.test(name))
    .map((name) => [`\`${name}\``, `${components.headers[name]?.description}`]);
  return writeTable(["Header", "Meaning"], rows);
}

/** The length of each ban, as a Markdown table. */
export function banTable(): string {
  const rows = banLengthsMs.map((length, i) => [ordinal(i + 1, banLengthsMs.length), writeLength(length)]);
  return writeTable(["Ban", "lasts"], rows);
}

function ordinal(number: number, last: number): string {
  const suffix = { 1: "st", 2: "nd", 3: "rd" }[number] ?? "th";
  return `${number}${suffix}${number === last ? " and further" : ""}`;
}

/** A command that makes one call more than `limit` allows, and counts the answers by status. */
export function exceedingSample({ url }: SampleCall, limit: number): string {
  return joinLines([
    `curl -s -o /dev/null -w "%{http_code}\\n" ${authorization}`,
    `"${url}?pageSize=1&n=[1-${limit + 1}]" | sort | uniq -c`,
  ]);
}

/** An answer with status 429. */
interface RefusalExample {
  /** The answer as HTTP/1.1 sends it. */
  readonly answer: string;
  readonly limit: number;
  readonly waitSeconds: number;
  readonly resetSeconds: number;
  /** The time of the reset, as `HH:MM:SS` in UTC. */
  readonly resetTime: string;
}

/** When the key of the example makes its first request, and how much later it is refused. Any times are fine. */
const openedAtMs = Date.parse("2026-11-20T12:00:00Z");
const refusedAfterMs = 42_000;

/** The answer to a Free key that makes one request more than its plan allows a minute. The rules themselves decide. */
export function refusalExample(requestId: string): RefusalExample {
  const { perMinute: limit } = planQuotas.free;
  const admitted = Array.from({ length: limit }, () => openedAtMs);
  const decision = decideAll([...admitted, openedAtMs + refusedAfterMs]);
  const { resetAtSeconds, resetAfterSeconds } = decision.shown;
  return {
    answer: writeAnswer(decision, requestId),
    limit,
    waitSeconds: resetAfterSeconds,
    resetSeconds: resetAtSeconds,
    resetTime: new Date(resetAtSeconds * 1_000).toISOString().slice(11, 19),
  };
}

function decideAll(moments: readonly number[]): DecisionWithUsage {
  const allowance = { quota: planQuotas.free, unbans: 0 };
  let decision = decide(noUsage, allowance, openedAtMs);
  for (const nowMs of moments.slice(1)) {
    decision = decide(decision.usage, allowance, nowMs);
  }
  return decision;
}

function writeAnswer(decision: RateLimitDecision, requestId: string): string {
  const error = limitError(decision);
  if (error === undefined) {
    throw new Error("the example is not refused");
  }
  const header = new HeaderList();
  header.append("content-type", "application/json");
  appendLimits(header, decision);
  header.append(requestIdHeader, requestId);
  const { status, body } = errorToRest(toConnectError(error));
  const lines = [...header].map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", JSON.stringify(body, null, 2)].join("\n");
}

/** A cursor for samples. */
const exampleCursor = "Ac16aWs_nAHXorQAAAAAAAAAEQ";

/** The numbers and tables of the chapter on stock, as Markdown. */
export function stockFacts({ document, operations }: DocsInput): Readonly<Record<string, string>> {
  const { InventoryChange, CreateHoldRequest, BatchUpdateInventoryRequest } = document.components.schemas;
  const ttl = property(CreateHoldRequest, "ttl");
  return {
    "idempotency-hours": String(idempotencyMs / 3_600_000),
    idempotent: operations
      .filter(({ rpc }) => operationOf(rpc)?.idempotencyKey)
      .map(operationLink)
      .join(", "),
    "hold-default": writeLength(defaultHoldMs),
    "hold-least": writeLength(secondsToMs(ttl["x-minimum"])),
    "hold-most": writeLength(secondsToMs(ttl["x-maximum"])),
    "hold-states": meaningTable(document, "State", "HoldState"),
    "batch-most": writeNumber(property(BatchUpdateInventoryRequest, "changes").maxItems ?? 0),
    "change-kinds": meaningTable(document, "Kind", "StockChangeKind"),
    "reason-most": String(property(InventoryChange, "reason").maxLength),
    "reference-most": String(property(InventoryChange, "reference").maxLength),
    ...watchFacts(),
    ...webhookFacts(),
  };
}

/** The samples of the chapter on stock, as HTML. */
export function stockSamples(input: DocsInput): Readonly<Record<string, string>> {
  const { operations, baseUrl } = input;
  const sample = (label: string, operationId: string, input: Partial<CallInput> = {}) => {
    const entry = entryOf(operationId, operations);
    return { label, code: writeCurl(createCall(callableOf(entry), withExample(entry, input), baseUrl)) };
  };
  const key = { "Idempotency-Key": ["8e03978e-40d5-43dd-bc93-6894a57f9324"] };
  return {
    "sample-version": shell([
      sample("Read", "getInventory"),
      sample("Write, if nobody has", "updateInventory", { values: { "If-Match": ['"17"'] } }),
    ]),
    "sample-idempotency": shell([sample("As often as needed", "adjustInventory", { values: key })]),
    "sample-hold": shell([sample("Hold", "createHold"), sample("Commit", "commitHold")]),
    "sample-history": shell([
      sample("List", "listInventory"),
      sample("Follow", "listStockChanges", { values: { after: [exampleCursor] } }),
    ]),
    ...watchSamples(input),
    ...webhookSamples(input),
  };
}

function withExample({ operation }: OperationEntry, input: Partial<CallInput>): CallInput {
  const example = exampleInput(operation);
  return { ...example, ...input, values: { ...example.values, ...input.values } };
}

function shell(blocks: readonly { readonly label: string; readonly code: string }[]): string {
  return codeBlocks(blocks, "sh");
}

function property(schema: OpenApiSchema | undefined, name: string): OpenApiSchema {
  const found = schema?.properties?.[name];
  if (found === undefined) {
    throw new Error(`the description has no field ${name}`);
  }
  return found;
}

/** Reads a duration in ProtoJSON, such as `900s`. */
function secondsToMs(duration = ""): number {
  return Number.parseFloat(duration) * 1_000;
}

function meaningTable({ components }: OpenApiDocument, head: string, name: string): string {
  const meanings = [...enumMeanings(components.schemas[name]?.description ?? "")];
  return writeTable(
    [head, "Meaning"],
    meanings.map(([value, text]) => [`\`${value}\``, text]),
  );
}

/** The numbers and tables of the sections on watching, as Markdown. */
function watchFacts(): Readonly<Record<string, string>> {
  return {
    heartbeat: writeLength(heartbeatMs),
    "streams-most": String(maxStreamsOfKey),
    "stream-ends": streamEnds(),
  };
}

/** The samples of the sections on watching, as HTML. */
function watchSamples({ operations, baseUrl }: DocsInput): Readonly<Record<string, string>> {
  const operation = callableOf(entryOf("watchStockChanges", operations));
  const call = createCall(operation, { values: { after: [exampleCursor] } }, baseUrl);
  const curl = codeBlocks([{ label: "Watch", code: writeCurl(call) }], "sh");
  const client = codeBlocks([{ label: "With the client for TypeScript", code: writeTypeScript(call) }], "ts");
  return { "sample-watch": curl + client };
}

/** How streams end, and what clients do then, as a Markdown table. */
function streamEnds(): string {
  const again = "Open it again after the last `id`";
  const rows = [
    ["The connection breaks, or is silent", `${again}: at once, then less and less often.`],
    [
      `\`error\` with ${errorLink("UNAVAILABLE")}, as the service stops`,
      `${again}, once \`retry\` has passed: ${retryMs} ms.`,
    ],
    [
      `\`error\` with ${errorLink("API_KEY_REVOKED")}, ${errorLink("API_KEY_EXPIRED")} or ${errorLink("SCOPE_MISSING")}, within a second`,
      "Ask for another key.",
    ],
    [
      `${errorLink("CURSOR_EXPIRED")}, as the answer or as \`error\`: the changes after your cursor are no longer kept`,
      "Your copy has a gap. List the inventory anew, and watch from its `X-Inventory-Cursor`.",
    ],
    [
      `${errorLink("TOO_MANY_STREAMS")}, as the answer: the key has ${maxStreamsOfKey} open`,
      "Close one. The refusal is not counted, and leads to no ban; no wait helps.",
    ],
  ];
  return writeTable(["You get", "Do this"], rows);
}

function errorLink(code: string): string {
  return `[\`${code}\`](#${code})`;
}

/** The numbers of the sections on webhooks. */
function webhookFacts(): Readonly<Record<string, string>> {
  return {
    "delivery-most": String(maxDeliveredChanges),
    "delivery-timeout": writeLength(deliveryTimeoutMs),
    "delivery-first-wait": writeLength(firstWaitMs),
    "delivery-longest-wait": writeLength(longestWaitMs),
    "delivery-paused-after": writeLength(pausedAfterMs),
    "former-secret": writeLength(formerSecretMs),
  };
}

/** A delivery, as HTML. It is dated as the last of its changes. */
function webhookSamples({ document, operations }: DocsInput): Readonly<Record<string, string>> {
  const { operation } = entryOf("listStockChanges", operations);
  const changes = contentExample(responseOf(document, operation.responses["200"] ?? { $ref: "" })) as readonly {
    readonly occurredAt: string;
  }[];
  const body = { type: "stock.changed", timestamp: changes.at(-1)?.occurredAt, data: { changes } };
  return { "sample-delivery": codeBlock(JSON.stringify(body, undefined, 2), "json") };
}
