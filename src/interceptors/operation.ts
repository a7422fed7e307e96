import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { type Operation, operation } from "../../gen/petstore/options/v1/options_pb.ts";

/** Options are decoded each time that they are asked for. */
const operations = new WeakMap<DescMethod, Operation | undefined>();

/** What the protos promise about a method; undefined for the stand-in of requests that no method takes. */
export function operationOf(method: DescMethod): Operation | undefined {
  if (!operations.has(method)) {
    operations.set(method, hasOption(method, operation) ? getOption(method, operation) : undefined);
  }
  return operations.get(method);
}
