import { defaultHoldMs } from "../../domain/hold.ts";
import { idempotencyMs } from "../../domain/idempotency.ts";
import { operationOf } from "../../interceptors/operation.ts";
import { type CallInput, createCall } from "../assets/samples/call.js";
import { writeCurl } from "../assets/samples/curl.js";
import { codeBlocks } from "../html/code-block.ts";
import { callableOf, exampleInput } from "../openapi/operation-call.ts";
import { entryOf, type OperationEntry } from "../openapi/operations.ts";
import { enumMeanings, type OpenApiDocument, type OpenApiSchema } from "../openapi/view.ts";
import { writeLength, writeNumber } from "./amounts.ts";
import { operationLink } from "./api-tables.ts";
import type { DocsInput } from "./template-values.ts";

/** A cursor for samples. */
export const exampleCursor = "Ac16aWs_nAHXorQAAAAAAAAAEQ";

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
  };
}

/** The samples of the chapter on stock, as HTML. */
export function stockSamples({ operations, baseUrl }: DocsInput): Readonly<Record<string, string>> {
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

/** Of a duration in ProtoJSON, such as `900s`. */
function secondsToMs(duration = ""): number {
  return Number.parseFloat(duration) * 1_000;
}

function meaningTable({ components }: OpenApiDocument, head: string, name: string): string {
  const rows = [...enumMeanings(components.schemas[name]?.description ?? "")];
  return [`| ${head} | Meaning |`, "| --- | --- |", ...rows.map(([value, text]) => `| \`${value}\` | ${text} |`)].join(
    "\n",
  );
}
