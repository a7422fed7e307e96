import { deprecationHeaders } from "../../interceptors/deprecation.ts";
import { operationOf } from "../../interceptors/operation.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import { codeBlock } from "../page/code-block.ts";

/** The headers by which the first deprecated operation says so, as HTML; or that there is none. */
export function deprecationExample(entries: readonly OperationEntry[]): string {
  for (const { rpc } of entries) {
    const deprecation = operationOf(rpc)?.deprecation;
    if (deprecation !== undefined) {
      const lines = Object.entries(deprecationHeaders(rpc, deprecation)).map(([name, value]) => `${name}: ${value}`);
      return codeBlock(lines.join("\n"), "http");
    }
  }
  return "<p>No operation is deprecated at present.</p>";
}
