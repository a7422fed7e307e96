import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { type Operation, operation } from "../../gen/petstore/options/v1/options_pb.ts";

/** What the protos promise about a method; undefined for the stand-in of requests that no method takes. */
export function operationOf(method: DescMethod): Operation | undefined {
  return hasOption(method, operation) ? getOption(method, operation) : undefined;
}
