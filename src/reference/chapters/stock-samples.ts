import { heartbeatMs } from "../../domain/history.ts";
import { defaultHoldMs } from "../../domain/hold.ts";
import { idempotencyMs } from "../../domain/idempotency.ts";
import {
  deliveryTimeoutMs,
  firstWaitMs,
  formerSecretMs,
  longestWaitMs,
  maxDeliveredChanges,
  pausedAfterMs,
} from "../../domain/webhook.ts";
import { retryMs } from "../../gateway/stream.ts";
import { operationOf } from "../../interceptors/operation.ts";
import { maxStreamsOfKey } from "../../interceptors/streams.ts";
import { type CallInput, createCall } from "../assets/samples/call.js";
import { writeCurl } from "../assets/samples/curl.js";
import { writeTypeScript } from "../assets/samples/typescript.js";
import { codeBlock, codeBlocks } from "../elements.ts";
import { contentExample, enumMeanings, type OpenApiDocument, type OpenApiSchema, responseOf } from "../openapi.ts";
import { callableOf, entryOf, exampleInput, type OperationEntry } from "../operations.ts";
import { operationLink, writeLength, writeNumber, writeTable } from "./markdown.ts";
import type { DocsInput } from "./template-values.ts";

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
      `\`error\` with ${link("UNAVAILABLE")}, as the service stops`,
      `${again}, once \`retry\` has passed: ${retryMs} ms.`,
    ],
    [
      `\`error\` with ${link("API_KEY_REVOKED")}, ${link("API_KEY_EXPIRED")} or ${link("SCOPE_MISSING")}, within a second`,
      "Ask for another key.",
    ],
    [
      `${link("CURSOR_EXPIRED")}, as the answer or as \`error\`: the changes after your cursor are no longer kept`,
      "Your copy has a gap. List the inventory anew, and watch from its `X-Inventory-Cursor`.",
    ],
    [
      `${link("TOO_MANY_STREAMS")}, as the answer: the key has ${maxStreamsOfKey} open`,
      "Close one. The refusal is not counted, and leads to no ban; no wait helps.",
    ],
  ];
  return writeTable(["You get", "Do this"], rows);
}

function link(code: string): string {
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
