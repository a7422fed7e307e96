import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import type { Violation } from "@bufbuild/protovalidate";
import { headerOf } from "./operation.ts";

/** Names the field of a violation in the caller's terms. */
export type Naming = (violation: Violation) => string;

/**
 * REST names a field by its header, or by its JSON name: within a list by the path from there, such as
 * `changes[3].delta`, otherwise alone. RPCs name it by its path of proto names.
 * Source: google/rpc/error_details.proto, BadRequest.FieldViolation
 */
export function namingOf(protocolName: string): Naming {
  return protocolName === "rest" ? ({ field }) => restName(field) : ({ field }) => pathToString(field);
}

function restName(path: Violation["field"]): string {
  const inList = path.findIndex((part) => part.kind === "field" && isMessageList(part));
  const start = inList < 0 ? path.findLastIndex(({ kind }) => kind === "field") : inList;
  let name = "";
  for (const [index, part] of path.entries()) {
    if (index >= start && part.kind === "field") {
      name += `${name && "."}${headerOf(part) ?? part.jsonName}`;
    } else if (index > inList && inList >= 0 && part.kind === "list_sub") {
      name += `[${part.index}]`;
    }
  }
  return name;
}

function isMessageList(field: DescField): boolean {
  return field.fieldKind === "list" && field.listKind === "message";
}

/** The headers that carry fields of a message, by the names of the fields. */
export function headerNames({ fields }: DescMessage): ReadonlyMap<string, string> {
  const named = fields.map((field) => [field.name, headerOf(field)] as const);
  return new Map(named.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
