import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { Charge, type Operation, operation } from "../../gen/petstore/options/v1/options_pb.ts";

/** Caches the options, which protobuf-es decodes on each access. `null` marks a method without them. */
const operations = new WeakMap<DescMethod, Operation | null>();

/** The `operation` option of a method; undefined for the synthetic method of requests that no RPC takes. */
export function operationOf(method: DescMethod): Operation | undefined {
  const known = operations.get(method);
  return (known === undefined ? readOperation(method) : known) ?? undefined;
}

/** Whether calls of a method are free of charge. */
export function isFree(method: DescMethod): boolean {
  return operationOf(method)?.charge === Charge.FREE;
}

function readOperation(method: DescMethod): Operation | null {
  const read = hasOption(method, operation) ? getOption(method, operation) : null;
  operations.set(method, read);
  return read;
}

/** The anchor of a method in the reference, such as `get-pet`. */
export function referenceAnchor({ localName }: DescMethod): string {
  return localName.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
