import { decideAnonymous } from "../../domain/anonymous-limit.ts";
import { keyVariable, type SampleCall } from "../assets/samples/call.js";
import { writeConnectGet, writeConnectPost } from "../assets/samples/connect.js";
import { writeCurl } from "../assets/samples/curl.js";
import { writeGrpcurl, writeReflection } from "../assets/samples/grpc.js";
import { exampleCall } from "../openapi/operation-call.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import type { ApiServer } from "../openapi/server-list.ts";
import type { OpenApiDocument } from "../openapi/view.ts";
import { codeBlock, codeBlocks } from "../page/code-block.ts";
import { errorList } from "../page/error-list.ts";
import { banTable, fewestRefusals } from "./ban-table.ts";
import type { Placeholders } from "./chapter.ts";
import { deprecationExample } from "./deprecation-example.ts";
import { errorExample } from "./error-example.ts";
import { exceedingSample } from "./exceeding-sample.ts";
import { limitHeaderTable } from "./limit-header-table.ts";
import { freeOperations, rpcTable, scopeTable, stabilityTable } from "./operation-tables.ts";
import { planTable } from "./plan-table.ts";
import { refusalExample } from "./refusal-example.ts";

/** What the chapters speak of. */
export interface ChapterSubject {
  readonly document: OpenApiDocument;
  readonly operations: readonly OperationEntry[];
  readonly servers: readonly ApiServer[];
  /** The address that the code samples call. */
  readonly baseUrl: string;
}

/** What the chapters name and do not say themselves, each from its one source. */
export function chapterParts(subject: ChapterSubject): Placeholders {
  const { document, operations, servers, baseUrl } = subject;
  const [list, update] = [entryOf("listInventory", operations), entryOf("updateInventory", operations)];
  const [listCall, updateCall] = [exampleCall(list, baseUrl), exampleCall(update, baseUrl)];
  const refusal = refusalExample(String(document.components.headers["X-Request-Id"]?.example));
  return {
    markdown: {
      plans: planTable(),
      bans: banTable(),
      "fewest-refusals": String(fewestRefusals()),
      "limit-headers": limitHeaderTable(document),
      operations: stabilityTable(operations),
      scopes: scopeTable(operations),
      "free-operations": freeOperations(operations),
      rpcs: rpcTable(operations),
      "anonymous-limit": String(decideAnonymous(undefined, 0).headerValues.limit),
      "refusal-limit": String(refusal.limit),
      "refusal-wait": String(refusal.waitSeconds),
      "refusal-reset": String(refusal.resetSeconds),
      "refusal-time": refusal.resetTime,
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
    },
    wide: { errors: errorList(document) },
  };
}

/** The first request, and its answer. */
function quickStart(call: SampleCall, { operation }: OperationEntry): string {
  const response = operation.responses["200"];
  const example =
    response !== undefined && "content" in response ? response.content?.["application/json"]?.example : [];
  return codeBlocks(
    [{ label: "In your shell", code: `export ${keyVariable}=psk_…\n\n${writeCurl(call)}` }],
    "sh",
  ).concat(codeBlocks([{ label: "The answer", code: JSON.stringify(example, undefined, 2) }], "json"));
}

function entryOf(operationId: string, operations: readonly OperationEntry[]): OperationEntry {
  const entry = operations.find(({ operation }) => operation.operationId === operationId);
  if (entry === undefined) {
    throw new Error(`the chapters name the operation ${operationId}, which there is not`);
  }
  return entry;
}
