import { decideAnonymous } from "../../domain/limits.ts";
import { keyVariable, type SampleCall } from "../assets/samples/call.js";
import { writeConnectGet, writeConnectPost } from "../assets/samples/connect.js";
import { writeCurl } from "../assets/samples/curl.js";
import { writeGrpcurl, writeReflection } from "../assets/samples/grpc.js";
import { codeBlock, codeBlocks } from "../html/elements.ts";
import type { ApiServer, OpenApiDocument } from "../openapi/document.ts";
import { entryOf, exampleCall, type OperationEntry } from "../openapi/operations.ts";
import {
  deprecationExample,
  errorExample,
  errorList,
  freeOperations,
  rpcTable,
  scopeTable,
  stabilityTable,
} from "./api-samples.ts";
import type { TemplateValues } from "./chapter.ts";
import {
  banTable,
  exceedingSample,
  fewestRefusals,
  limitHeaderTable,
  planTable,
  refusalExample,
} from "./limit-samples.ts";
import { stockFacts, stockSamples } from "./stock-samples.ts";

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
