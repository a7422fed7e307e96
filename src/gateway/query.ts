import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ContentFault, faultWithin } from "./content-fault.ts";
import { assertOneofUnset, createGetter, createSetter, type Fields } from "./field-access.ts";
import { createEntry } from "./field-path.ts";
import { createFieldTextReader } from "./field-text.ts";
import type { JsonPolicy } from "./json-policy.ts";
import { decodeQueryName, decodeQueryText, splitQuery } from "./query-string.ts";
import type { TextReader } from "./text-scalar.ts";

/** How deep parameters such as `a.b.c` may go: as deep as JSON may. */
const maxDepth = 100;

interface Leaf {
  readonly kind: "leaf";
  readonly field: DescField;
  readonly read: TextReader;
  /** Appends to a list, or sets what is not one. */
  readonly store: (message: Fields, value: unknown) => void;
}

interface Branch {
  readonly kind: "branch";
  readonly field: DescField & { fieldKind: "message" };
  readonly parameters: QueryFields;
  readonly enter: (message: Fields) => Fields;
}

/** A field that a query cannot set: a map, a list of messages, a `Struct` and the like. */
interface Unsettable {
  readonly kind: "unsettable";
  readonly field: DescField;
}

/** The fields of a message, by proto name and JSON name. */
export type QueryFields = ReadonlyMap<string, Leaf | Branch | Unsettable>;

/** Compiles the parameters of message types, once each. */
export class QueryFieldSets {
  readonly #policy: JsonPolicy;
  readonly #compiled = new Map<DescMessage, QueryFields>();

  constructor(policy: JsonPolicy) {
    this.#policy = policy;
  }

  message(desc: DescMessage): QueryFields {
    return this.#compiled.get(desc) ?? this.#compile(desc);
  }

  #compile(desc: DescMessage): QueryFields {
    const parameters = new Map<string, Leaf | Branch | Unsettable>();
    // It is there before its fields are compiled, for messages that hold themselves.
    this.#compiled.set(desc, parameters);
    for (const field of desc.fields) {
      const parameter = this.#parameter(field);
      parameters.set(field.name, parameter);
      parameters.set(field.jsonName, parameter);
    }
    return parameters;
  }

  #parameter(field: DescField): Leaf | Branch | Unsettable {
    const read = createFieldTextReader(field, this.#policy);
    if (read !== undefined) {
      return { kind: "leaf", field, read, store: createStore(field) };
    }
    if (field.fieldKind === "message" && !field.message.typeName.startsWith("google.protobuf.")) {
      return { kind: "branch", field, parameters: this.message(field.message), enter: createBranchEntry(field) };
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

/** As `createEntry`, but never in place of another field of a oneof. */
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
 * Sets the fields of a message from a query. Parameters that name no field are ignored, and so are those of the fields
 * in `bound` (proto names, joined by dots), which come from the path or the body. A parameter that names a field
 * which a query cannot set is refused, and so is a second one for a field that is not a list.
 *
 * Throws `ContentFault`.
 */
export function readQuery(query: string, parameters: QueryFields, bound: ReadonlySet<string>, message: Fields): void {
  if (query === "") {
    return;
  }
  const given = new Set<string>();
  for (const { name: sentName, value } of splitQuery(query)) {
    const name = decodeQueryName(sentName);
    const target = name === undefined ? undefined : findTarget(name.split("."), parameters, bound);
    if (name !== undefined && target !== undefined) {
      try {
        setTarget(target, value, given, message);
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
  readonly end: Leaf | Branch | Unsettable;
}

function findTarget(names: readonly string[], parameters: QueryFields, bound: ReadonlySet<string>): Target | undefined {
  const branches: Branch[] = [];
  let path = "";
  let known = parameters;
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
    if (parameter.kind !== "branch" || depth === maxDepth) {
      return undefined;
    }
    branches.push(parameter);
    known = parameter.parameters;
  }
  return undefined;
}

function setTarget({ path, branches, end }: Target, value: string, given: Set<string>, message: Fields): void {
  if (end.kind !== "leaf") {
    throw new ContentFault(
      end.kind === "branch" ? "must be given field by field, such as field.part=value" : "cannot be given in a query",
    );
  }
  if (end.field.fieldKind !== "list" && given.has(path)) {
    throw new ContentFault("must be given only once");
  }
  given.add(path);
  const read = end.read(decodeQueryText(value));
  const holder = branches.reduce((entered, { enter }) => enter(entered), message);
  end.store(holder, read);
}
