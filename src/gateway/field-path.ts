import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { createFields, createGetter, createSetter, type Fields, valueShape } from "../proto-json/fields.ts";

/** Sets the value at the end of a path, and creates the messages on the way. */
export type PathSetter = (message: Fields, value: unknown) => void;

/** A path of fields. All but the last are singular messages. */
interface FieldPath {
  readonly leaf: DescField;
  /** The path by the fields' JSON names. */
  readonly jsonPath: string;
  /** Gets the value at the end of the path; undefined when a message on the way is not set. */
  readonly get: (message: Fields) => unknown;
  readonly set: PathSetter;
}

/** Resolves proto names that are joined by dots. Throws an `Error` that says what is wrong with them. */
export function resolveFieldPath(desc: DescMessage, path: string): FieldPath {
  const dot = path.indexOf(".");
  if (dot < 0) {
    const leaf = requireField(desc, path);
    return { leaf, jsonPath: leaf.jsonName, get: createGetter(leaf), set: createSetter(leaf) };
  }
  const branch = requireField(desc, path.slice(0, dot));
  if (branch.fieldKind !== "message" || boxingOf(branch) !== "message") {
    throw new Error(`${desc.typeName}.${branch.name} is not a singular message with fields to bind`);
  }
  const { leaf, jsonPath, get, set } = resolveFieldPath(branch.message, path.slice(dot + 1));
  const getBranch = createGetter(branch);
  const enter = createEntry(branch);
  return {
    leaf,
    jsonPath: `${branch.jsonName}.${jsonPath}`,
    get: (message) => {
      const held = getBranch(message);
      return held === undefined ? undefined : get(held as Fields);
    },
    set: (message, value) => set(enter(message), value),
  };
}

function boxingOf(field: DescField): string | undefined {
  const shape = valueShape(field);
  return shape.kind === "message" ? shape.boxing : undefined;
}

/** Gets the message in a field, and creates it if there is none. */
export function createEntry(field: DescField & { fieldKind: "message" }): (message: Fields) => Fields {
  const get = createGetter(field);
  const set = createSetter(field);
  return (message) => {
    const held = get(message);
    if (held !== undefined) {
      return held as Fields;
    }
    const created = createFields(field.message);
    set(message, created);
    return created;
  };
}

/** A field by its proto name. Throws an `Error` when there is none. */
export function requireField(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((candidate) => candidate.name === name);
  if (field === undefined) {
    throw new Error(`${desc.typeName} has no field ${name}`);
  }
  return field;
}
