import { heartbeatMs } from "../../domain/history.ts";
import { retryMs } from "../../gateway/stream-format.ts";
import { maxStreamsOfKey } from "../../interceptors/streams.ts";
import { createCall } from "../assets/samples/call.js";
import { writeCurl } from "../assets/samples/curl.js";
import { writeTypeScript } from "../assets/samples/typescript.js";
import { codeBlocks } from "../html/code-block.ts";
import { callableOf } from "../openapi/operation-call.ts";
import { entryOf } from "../openapi/operations.ts";
import { writeLength } from "./amounts.ts";
import { exampleCursor } from "./stock-samples.ts";
import type { DocsInput } from "./template-values.ts";

/** The numbers and tables of the sections on watching, as Markdown. */
export function watchFacts(): Readonly<Record<string, string>> {
  return {
    heartbeat: writeLength(heartbeatMs),
    "streams-most": String(maxStreamsOfKey),
    "stream-ends": streamEnds(),
  };
}

/** The samples of the sections on watching, as HTML. */
export function watchSamples({ operations, baseUrl }: DocsInput): Readonly<Record<string, string>> {
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
  return ["| You get | Do this |", "| --- | --- |", ...rows.map((row) => `| ${row.join(" | ")} |`)].join("\n");
}

function link(code: string): string {
  return `[\`${code}\`](#${code})`;
}
