import { judgeStranger } from "../domain/stranger.ts";
import { banTable, fewestRefusals } from "./ban-table.ts";
import type { Placeholders } from "./chapter.ts";
import { codeBlock, codeTabs } from "./code-block.ts";
import { deprecationExample } from "./deprecation-example.ts";
import { errorExample } from "./error-example.ts";
import { errorList } from "./error-list.ts";
import { exceedingSample } from "./exceeding-sample.ts";
import { limitHeaderTable } from "./limit-header-table.ts";
import type { OpenApiDocument } from "./openapi-view.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { sampleCall, sampleTabs } from "./operation-sample.ts";
import { freeOperations, rpcTable, scopeTable, stabilityTable } from "./operation-table.ts";
import { planTable } from "./plan-table.ts";
import { refusalExample } from "./refusal-example.ts";
import { connectSamples, reflectionSamples } from "./rpc-sample.ts";
import { type ApiServer, serverTable } from "./server-list.ts";

/** What the chapters speak of. */
export interface Subject {
  readonly document: OpenApiDocument;
  readonly operations: readonly OperationEntry[];
  readonly servers: readonly ApiServer[];
  /** The address that the code samples call. */
  readonly baseUrl: string;
}

/** What the chapters name and do not say themselves, each from its one source. */
export function proseParts({ document, operations, servers, baseUrl }: Subject): Placeholders {
  const [list, update] = [entryOf("listInventory", operations), entryOf("updateInventory", operations)];
  const refusal = refusalExample(String(document.components.headers["X-Request-Id"]?.example));
  return {
    markdown: {
      servers: serverTable(servers),
      plans: planTable(),
      bans: banTable(),
      "fewest-refusals": String(fewestRefusals()),
      "limit-headers": limitHeaderTable(document),
      operations: stabilityTable(operations),
      scopes: scopeTable(operations),
      "free-operations": freeOperations(operations),
      rpcs: rpcTable(operations),
      "stranger-limit": String(judgeStranger(undefined, 0).standing.limit),
      "refusal-limit": String(refusal.limit),
      "refusal-wait": String(refusal.waitSeconds),
      "refusal-reset": String(refusal.resetSeconds),
      "refusal-time": refusal.resetTime,
    },
    html: {
      errors: errorList(document),
      "error-body": codeBlock(errorExample(), "json"),
      deprecation: deprecationExample(operations),
      "sample-listInventory": sampleTabs(list, baseUrl),
      "sample-updateInventory": sampleTabs(update, baseUrl),
      "sample-grpcurl": codeTabs("grpcurl", reflectionSamples(sampleCall(list, baseUrl))),
      "sample-connect": codeTabs("Connect", connectSamples(sampleCall(update, baseUrl), sampleCall(list, baseUrl))),
      "sample-refusal": codeBlock(exceedingSample(sampleCall(list, baseUrl), refusal.limit), "sh"),
      "refusal-answer": codeBlock(refusal.answer, "http"),
    },
  };
}

function entryOf(operationId: string, operations: readonly OperationEntry[]): OperationEntry {
  const entry = operations.find(({ operation }) => operation.operationId === operationId);
  if (entry === undefined) {
    throw new Error(`the chapters name the operation ${operationId}, which there is not`);
  }
  return entry;
}
