import type { ScalarType } from "@bufbuild/protobuf";
import { JsonNumber } from "../../exact-json/number.ts";
import { ContentFault, faultWithin } from "../content-fault.ts";
import { createTextReader } from "../fields/text-scalar.ts";
import type { JsonReader } from "./json-scalar.ts";
import { mapKeyLabel } from "./well-known-types.ts";

/** Reads an array, item by item. Throws `ContentFault`, as all of these do. */
export function readList(json: unknown, read: JsonReader): unknown[] {
  if (!Array.isArray(json)) {
    throw new ContentFault("must be an array");
  }
  const items: unknown[] = [];
  for (const [index, item] of json.entries()) {
    try {
      items.push(read(item));
    } catch (error) {
      throw faultWithin(error, `[${index}]`);
    }
  }
  return items;
}

/** The reader of a map, whose keys are of this scalar type. */
export function createMapReader(mapKey: ScalarType, read: JsonReader): JsonReader {
  const readKey = createTextReader(mapKey, true);
  return (json) => {
    // `Object.fromEntries` takes `__proto__` for a key; an assignment would not.
    const entries = Object.entries(readObject(json)).map(([key, value]): [string, unknown] => {
      const label = mapKeyLabel(key);
      return [String(readWithin(label, key, readKey)), readWithin(label, value, read)];
    });
    return Object.fromEntries(entries);
  };
}

/** Reads the value of a key. Faults get the key before their path. */
export function readWithin<T>(key: string, part: T, read: (part: T) => unknown): unknown {
  try {
    return read(part);
  } catch (error) {
    throw faultWithin(error, key);
  }
}

/** Throws `ContentFault` for anything but an object. */
export function readObject(json: unknown): Record<string, unknown> {
  if (typeof json !== "object" || json === null || Array.isArray(json) || json instanceof JsonNumber) {
    throw new ContentFault("must be an object");
  }
  return json as Record<string, unknown>;
}
