import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { OpenApiDocument, OpenApiOperation } from "./openapi-view.ts";

/** An operation of the API, from its OpenAPI description and its descriptor. */
export interface OperationEntry {
  readonly method: string;
  /** Relative to the base address, such as `/inventory/{petId}`. */
  readonly path: string;
  readonly operation: OpenApiOperation;
  readonly rpc: DescMethod;
}

/** The operations of a description, in its order. Throws when one belongs to none of the services. */
export function listOperations(document: OpenApiDocument, services: readonly DescService[]): OperationEntry[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
      rpc: rpcOf(operation, services),
    })),
  );
}

/** The anchor of an operation, which its `Link` headers name, too. */
export function anchorOf({ rpc }: OperationEntry): string {
  return `#/${rpc.parent.name}/${rpc.localName}`;
}

function rpcOf({ operationId }: OpenApiOperation, services: readonly DescService[]): DescMethod {
  const rpc = services.flatMap(({ methods }) => methods).find(({ localName }) => localName === operationId);
  if (rpc === undefined) {
    throw new Error(`no service has the operation ${operationId}`);
  }
  return rpc;
}
