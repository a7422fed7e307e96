import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { assertOneofUnset, createGetter, createSetter, type Fields } from "../fields/field-access.ts";
import { createEntry } from "../fields/field-path.ts";
import { createFieldTextReader } from "../fields/field-text.ts";
import type { TextReader } from "../fields/text-scalar.ts";
import type { JsonPolicy } from "../json/json-policy.ts";

/** A field that one parameter sets. */
export interface Leaf {
  readonly kind: "leaf";
  readonly field: DescField;
  readonly read: TextReader;
  /** Appends to a list, or sets another field. */
  readonly store: (message: Fields, value: unknown) => void;
}

/** A message field. Parameters reach its fields by dots. */
export interface Branch {
  readonly kind: "branch";
  readonly field: DescField & { fieldKind: "message" };
  readonly fields: QueryFields;
  readonly enter: (message: Fields) => Fields;
}

/** A field that a query cannot set: a map, a list of messages, a `Struct` and the like. */
export interface Unsettable {
  readonly kind: "unsettable";
  readonly field: DescField;
}

/** A field that a parameter can name. */
export type QueryField = Leaf | Branch | Unsettable;

/** The fields of a message, by proto name and JSON name. */
export type QueryFields = ReadonlyMap<string, QueryField>;

/** Compiles the fields of message types for queries, once each. */
export class QueryFieldSets {
  readonly #policy: JsonPolicy;
  readonly #compiled = new Map<DescMessage, QueryFields>();

  constructor(policy: JsonPolicy) {
    this.#policy = policy;
  }

  /** The fields of a message type. Throws an `Error` when the policy does not suit one of its enums. */
  message(desc: DescMessage): QueryFields {
    return this.#compiled.get(desc) ?? this.#compile(desc);
  }

  #compile(desc: DescMessage): QueryFields {
    const fields = new Map<string, QueryField>();
    // It is registered before its fields are compiled, for recursive messages.
    this.#compiled.set(desc, fields);
    for (const field of desc.fields) {
      const compiled = this.#field(field);
      fields.set(field.name, compiled);
      fields.set(field.jsonName, compiled);
    }
    return fields;
  }

  #field(field: DescField): QueryField {
    const read = createFieldTextReader(field, this.#policy);
    if (read !== undefined) {
      return { kind: "leaf", field, read, store: createStore(field) };
    }
    if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")) {
      return { kind: "branch", field, fields: this.message(field.message), enter: createBranchEntry(field) };
    }
    return { kind: "unsettable", field };
  }
}

function createStore(field: DescField): (message: Fields, value: unknown) => void {
  if (field.fieldKind === "list") {
    const get = createGetter(field);
    return (message, value) => (get(message) as unknown[]).push(value);
  }
  const set = createSetter(field);
  return (message, value) => {
    assertOneofUnset(field, message);
    set(message, value);
  };
}

/** As `createEntry`, but it does not replace another field of a oneof. */
function createBranchEntry(field: DescField & { fieldKind: "message" }): (message: Fields) => Fields {
  const get = createGetter(field);
  const enter = createEntry(field);
  return (message) => {
    if (get(message) === undefined) {
      assertOneofUnset(field, message);
    }
    return enter(message);
  };
}
