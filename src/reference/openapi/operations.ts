import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { referenceAnchor } from "../../interceptors/operation.ts";
import type { OpenApiDocument, OpenApiOperation } from "./view.ts";

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
