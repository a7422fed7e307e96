import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from "@bufbuild/protobuf";
import { type HttpRule, httpRules } from "../gateway/routes/http-rule.ts";
import { eventsOf, headerOf, operationOf, referenceAnchor } from "../interceptors/operation.ts";
import {
  type CallableOperation,
  type CallInput,
  type CallParameter,
  createCall,
  type SampleCall,
} from "./assets/samples/call.js";
import type { FieldShape, MessageShape } from "./assets/samples/message.js";
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from "./openapi.ts";

/** An operation of the API, with its OpenAPI description and its descriptor. */
export interface OperationEntry {
  /** Its anchor on the page. `Link` headers name it too. */
  readonly id: string;
  /** Such as `List inventory`. */
  readonly title: string;
  readonly method: string;
  /** Relative to the base address, such as `/inventory/{petId}`. */
  readonly path: string;
  readonly operation: OpenApiOperation;
  readonly rpc: DescMethod;
}

/** The operations of a description, in its order. Throws for an operation that no service has. */
export function listOperations(document: OpenApiDocument, services: readonly DescService[]): OperationEntry[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const rpc = rpcOf(operation, services);
      const id = referenceAnchor({ localName: operation.operationId });
      const words = id.replaceAll("-", " ");
      const title = words.charAt(0).toUpperCase() + words.slice(1);
      return { id, title, method: method.toUpperCase(), path, operation, rpc };
    }),
  );
}

function rpcOf({ "x-rpc": name }: OpenApiOperation, services: readonly DescService[]): DescMethod {
  const rpc = services
    .flatMap(({ methods }) => methods)
    .find((method) => `${method.parent.typeName}/${method.name}` === name);
  if (rpc === undefined) {
    throw new Error(`no service has the RPC ${name}`);
  }
  return rpc;
}

/** An operation by its name in the description. Throws for an unknown one. */
export function entryOf(operationId: string, operations: readonly OperationEntry[]): OperationEntry {
  const entry = operations.find(({ operation }) => operation.operationId === operationId);
  if (entry === undefined) {
    throw new Error(`there is no operation ${operationId}`);
  }
  return entry;
}

/** The data of an operation for the code samples, and for the scripts of the page. */
export function callableOf(entry: OperationEntry): CallableOperation {
  const { method, path, operation, rpc } = entry;
  const { parameters = [], requestBody } = operation;
  const body = ruleOf(entry)?.body;
  const bodyField = body === "*" ? body : rpc.input.fields.find(({ name }) => name === body)?.jsonName;
  return {
    method,
    path,
    parameters: parameters.map((parameter) => callParameter(parameter, rpc)),
    ...(requestBody !== undefined && bodyField !== undefined && { bodyField }),
    rpc: operation["x-rpc"],
    request: messageShape(rpc.input),
    result: rpc.output.fields[0]?.localName ?? "",
    isPaged: rpc.output.fields.some(({ name }) => name === "next_page_token"),
    isStream: eventsOf(rpc) !== undefined,
  };
}

/** The rule that makes this operation of its RPC. */
function ruleOf({ method, path, rpc }: OperationEntry): HttpRule | undefined {
  const unnamed = (text: string) => text.replace(/\{[^}]*\}/g, "{}");
  return httpRules(rpc).find(
    ({ httpMethod, template }) => httpMethod === method && unnamed(template).endsWith(unnamed(path)),
  );
}

/** The header that carries a field over REST. `Last-Event-ID` carries the field that says where a stream goes on. */
function headerOfField(field: DescField, rpc: DescMethod): string | undefined {
  return field.name === eventsOf(rpc)?.resumeField ? "Last-Event-ID" : headerOf(field);
}

/** A parameter of a call. A header either carries a field over REST, or is metadata that RPCs have, too. */
function callParameter({ name, in: place }: OpenApiParameter, rpc: DescMethod): CallParameter {
  const field = rpc.input.fields.find((candidate) => headerOfField(candidate, rpc) === name)?.jsonName;
  const isMetadata = place === "header" && field === undefined && operationOf(rpc)?.idempotencyKey === true;
  return { name, in: place, ...(field !== undefined && { field }), ...(isMetadata && { isMetadata }) };
}

/** A call of an operation with its example values, and without optional parameters. */
export function exampleCall(entry: OperationEntry, baseUrl: string): SampleCall {
  return createCall(callableOf(entry), exampleInput(entry.operation), baseUrl);
}

/** The example values of what an operation requires. */
export function exampleInput({ parameters = [], requestBody }: OpenApiOperation): CallInput {
  const inPath = parameters.filter((parameter) => parameter.in === "path");
  const example = requestBody?.content["application/json"]?.example;
  return {
    values: Object.fromEntries(inPath.map((parameter) => [parameter.name, [String(parameter.example)]])),
    ...(example !== undefined && { body: writeJson(example) }),
  };
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

function messageShape({ fields }: DescMessage): MessageShape {
  return Object.fromEntries(fields.map((field) => [field.jsonName, fieldShape(field)]));
}

function fieldShape(field: DescField): FieldShape {
  return field.fieldKind === "list" ? { ...valueShape(field), repeated: true } : valueShape(field);
}

function valueShape(field: DescField): FieldShape {
  if (field.message?.typeName === "google.protobuf.Duration") {
    return { type: "duration" };
  }
  if (field.message !== undefined) {
    return { type: "message", fields: messageShape(field.message) };
  }
  return field.enum === undefined ? { type: scalarType(field.scalar) } : enumShape(field.enum);
}

/** REST writes the values in lower case. The first one, which is unspecified, is never written. */
function enumShape({ name, values }: DescEnum): FieldShape {
  const known = values
    .filter(({ number }) => number !== 0)
    .map(({ name: proto, localName: local }) => [local.toLowerCase(), { proto, local }]);
  return { type: "enum", enumName: name, enumValues: Object.fromEntries(known) };
}

const bits64 = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64];

function scalarType(scalar: ScalarType | undefined): FieldShape["type"] {
  if (scalar === undefined || scalar === ScalarType.STRING || scalar === ScalarType.BYTES) {
    return "string";
  }
  return scalar === ScalarType.BOOL ? "bool" : bits64.includes(scalar) ? "int64" : "number";
}
