import { type DescField, type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import {
  Charge,
  type EventStream,
  header,
  type Operation,
  operation,
} from "../../gen/petstore/options/v1/options_pb.ts";

/** Caches the options, which protobuf-es decodes on each access. `null` marks a method without them. */
const operations = new WeakMap<DescMethod, Operation | null>();

/** The `operation` option of a method; undefined for one without it, such as that of requests that match no RPC. */
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

/** The header that carries a field over REST, such as `If-Match`; undefined if none does. */
export function headerOf(field: DescField): string | undefined {
  return hasOption(field, header) ? getOption(field, header) : undefined;
}

/** How a stream is sent as Server-Sent Events; undefined for a method without events. */
export function eventsOf(method: DescMethod): EventStream | undefined {
  return operationOf(method)?.events;
}

/** The HTTP status of a method's successful answers. */
export function successStatus(method: DescMethod): number {
  return operationOf(method)?.successStatus || 200;
}

/** The path template of what a method creates, in fields of its response; undefined if it creates nothing with a path. */
export function locationOf(method: DescMethod): string | undefined {
  return operationOf(method)?.location || undefined;
}

/** The anchor of a method in the reference, such as `get-pet`. */
export function referenceAnchor({ localName }: Pick<DescMethod, "localName">): string {
  return localName.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
