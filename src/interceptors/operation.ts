import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { Charge, type Operation, operation } from "../../gen/petstore/options/v1/options_pb.ts";

/** Options are decoded each time that they are asked for. `null` stands for a method that has none. */
const operations = new WeakMap<DescMethod, Operation | null>();

/** What the protos promise about a method; undefined for the stand-in of requests that no method takes. */
export function operationOf(method: DescMethod): Operation | undefined {
  const known = operations.get(method);
  return (known === undefined ? readOperation(method) : known) ?? undefined;
}

/** Whether calls of a method count towards no limit of their key. */
export function isFree(method: DescMethod): boolean {
  return operationOf(method)?.charge === Charge.FREE;
}

function readOperation(method: DescMethod): Operation | null {
  const read = hasOption(method, operation) ? getOption(method, operation) : null;
  operations.set(method, read);
  return read;
}

/** The anchor of a method's place in the reference, such as `get-pet`. */
export function referenceAnchor({ localName }: DescMethod): string {
  return localName.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
