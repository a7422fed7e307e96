import { type CodeTab, codeTabs } from "./code-block.ts";
import type { OpenApiOperation } from "./openapi-view.ts";
import type { OperationEntry } from "./operation-entry.ts";
import type { SampleCall } from "./samples/call.ts";
import { sampleLanguages } from "./samples/languages.ts";

/** An operation's code samples in all languages, as tabs. */
export function sampleTabs(entry: OperationEntry, baseUrl: string): string {
  const call = sampleCall(entry, baseUrl);
  const tabs = sampleLanguages.map(({ label, syntax, write }): CodeTab => ({ label, syntax, code: write(call) }));
  return codeTabs(`Code samples of ${entry.operation.operationId}`, tabs);
}

/** The call of an operation with the examples of its description, and without what can be left out. */
export function sampleCall(entry: OperationEntry, baseUrl: string): SampleCall {
  const { method, path, operation } = entry;
  const pathValues = pathExamples(operation);
  const body = operation.requestBody?.content["application/json"]?.example;
  const bodyField = entry.rpc.input.fields.find(({ message }) => message !== undefined)?.jsonName ?? "body";
  const message = { ...pathValues, ...(body === undefined ? {} : { [bodyField]: body }) };
  return {
    method,
    url: baseUrl + path.replace(/\{(\w+)\}/g, (_, name: string) => String(pathValues[name])),
    body: body === undefined ? undefined : writeJson(body),
    rpc: operation["x-rpc"],
    message: writeJson(message),
  };
}

function pathExamples({ parameters = [] }: OpenApiOperation): Record<string, unknown> {
  const inPath = parameters.filter((parameter) => parameter.in === "path");
  return Object.fromEntries(inPath.map(({ name, example }) => [name, example]));
}

/** JSON on one line, spaced as people write it. */
function writeJson(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(writeJson).join(", ")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${writeJson(member)}`);
    return `{${members.join(", ")}}`;
  }
  return JSON.stringify(value);
}
