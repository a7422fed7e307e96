import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { maxJsonDepth } from "../exact-json/parse.ts";
import { ContentFault, faultWithin, givenUnderBothNames } from "../proto-json/content-fault.ts";
import { assertOneofUnset, createEntry, createGetter, createSetter, type Fields } from "../proto-json/fields.ts";
import type { JsonPolicy } from "../proto-json/json-policy.ts";
import { createFieldTextReader } from "../proto-json/json-reader.ts";
import type { TextReader } from "../proto-json/scalar.ts";
import { decodeQueryName, decodeQueryText, splitQuery } from "./url-text.ts";

/** A field that one parameter sets. */
interface Leaf {
  readonly kind: "leaf";
  readonly field: DescField;
  readonly read: TextReader;
  /** Appends to a list, or sets another field. */
  readonly store: (message: Fields, value: unknown) => void;
}

/** A message field. A parameter names a field of the message after a dot. */
interface Branch {
  readonly kind: "branch";
  readonly field: DescField & { fieldKind: "message" };
  readonly fields: QueryFields;
  readonly enter: (message: Fields) => Fields;
}

/** A field that a query cannot set: a map, a list of messages, a `Struct` and the like. */
interface Unsettable {
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
    // The map is registered before its fields are compiled, so that recursive messages find it.
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

/** As `createEntry`, but it throws `ContentFault` instead of replacing another field of a oneof. */
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

/**
 * Sets the fields of a message from a query. It ignores parameters that name no field, or a field in `bound` (proto
 * names, joined by dots), which comes from the path, the body or a header. It refuses a field that a query cannot set,
 * and a second value for a field that is not a list. Parameters such as `a.b.c` may nest as deep as JSON.
 *
 * Throws `ContentFault`.
 */
export function readQuery(query: string, fields: QueryFields, bound: ReadonlySet<string>, message: Fields): void {
  /** From the path of a field to the name under which it is given. */
  const given = new Map<string, string>();
  for (const { name: sentName, value } of splitQuery(query)) {
    const name = decodeQueryName(sentName);
    const target = name === undefined ? undefined : findTarget(name.split("."), fields, bound);
    if (name !== undefined && target !== undefined) {
      try {
        noteGiven(target, name, given);
        setTarget(target, value, message);
      } catch (error) {
        throw faultWithin(error, name);
      }
    }
  }
}

interface Target {
  /** Proto names, joined by dots. */
  readonly path: string;
  readonly branches: readonly Branch[];
  readonly end: QueryField;
}

function findTarget(names: readonly string[], fields: QueryFields, bound: ReadonlySet<string>): Target | undefined {
  const branches: Branch[] = [];
  let path = "";
  let known = fields;
  for (const [depth, name] of names.entries()) {
    const parameter = known.get(name);
    if (parameter === undefined) {
      return undefined;
    }
    path += depth === 0 ? parameter.field.name : `.${parameter.field.name}`;
    if (bound.has(path)) {
      return undefined;
    }
    if (depth === names.length - 1) {
      return { path, branches, end: parameter };
    }
    if (parameter.kind !== "branch" || depth === maxJsonDepth) {
      return undefined;
    }
    branches.push(parameter);
    known = parameter.fields;
  }
  return undefined;
}

/** Notes the name of a field that is given. Throws `ContentFault` for a second value, unless the field is a list. */
function noteGiven({ path, end }: Target, name: string, given: Map<string, string>): void {
  const earlier = given.get(path);
  if (earlier !== undefined && end.field.fieldKind !== "list") {
    throw earlier === name ? new ContentFault("must be given only once") : givenUnderBothNames(earlier);
  }
  given.set(path, name);
}

function setTarget({ branches, end }: Target, value: string, message: Fields): void {
  if (end.kind !== "leaf") {
    throw new ContentFault(
      end.kind === "branch" ? "must be given field by field, such as field.part=value" : "cannot be given in a query",
    );
  }
  const read = end.read(decodeQueryText(value));
  const holder = branches.reduce((entered, { enter }) => enter(entered), message);
  end.store(holder, read);
}
