import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { maxJsonDepth } from "../exact-json/parse.ts";
import { ContentFault, faultWithin, givenUnderBothNames } from "../proto-json/content-fault.ts";
import { assertOneofUnset, createEntry, createGetter, createSetter, type Fields } from "../proto-json/fields.ts";
import type { JsonPolicy } from "../proto-json/json-policy.ts";
import { createFieldTextReader } from "../proto-json/json-reader.ts";
import type { TextReader } from "../proto-json/scalar.ts";

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

const plain = /^[!-$&-~]*$/;
const ascii = /^[\0-\x7f]*$/;
const encodedSlash = /(%2[Ff])/;

/**
 *     text      = *character
 *     character = unescaped | one | two | three | four
 *
 * `one` to `four` are UTF-8 sequences of that length with each byte escaped. Each alternative begins differently, so
 * matching takes linear time.
 *
 * Source: RFC 3986, 2.1; RFC 3629, 4.
 */
const tail = "%[89AB][0-9A-F]";
const unescaped = "[\\0-$&-\\x7f]";
const one = "%[0-7][0-9A-F]";
const two = `%(?:C[2-9A-F]|D[0-9A-F])${tail}`;
const three = `%(?:E0%[AB][0-9A-F]|E[1-9A-CEF]${tail}|ED%[89][0-9A-F])${tail}`;
const four = `%(?:F0%[9AB][0-9A-F]|F[1-3]${tail}|F4%8[0-9A-F])${tail}${tail}`;
const encodedText = new RegExp(`^(?:${[unescaped, one, two, three, four].join("|")})*$`, "i");

/**
 * Decodes percent-encoded UTF-8. Throws `ContentFault` for an incomplete escape, for invalid UTF-8, and for characters
 * beyond ASCII, which a URI cannot hold.
 *
 * Source: RFC 3986, 2.1.
 */
export function percentDecode(text: string): string {
  if (plain.test(text)) {
    return text;
  }
  if (!ascii.test(text)) {
    throw new ContentFault("must have characters beyond ASCII percent-encoded");
  }
  if (!encodedText.test(text)) {
    throw new ContentFault("must be percent-encoded UTF-8");
  }
  return decodeURIComponent(text);
}

/** As `percentDecode`, but encoded slashes stay encoded, so that they differ from the slashes between segments. */
export function percentDecodeSegments(text: string): string {
  return text
    .split(encodedSlash)
    .map((part) => (encodedSlash.test(part) ? part : percentDecode(part)))
    .join("");
}

/** Whether `percentDecode` accepts the text. This is faster than an error for each text that it does not accept. */
function isPercentEncoded(text: string): boolean {
  return plain.test(text) || encodedText.test(text);
}

/** One parameter of a query, as sent. */
interface QueryParameter {
  readonly name: string;
  /** Empty when there is no `=`. */
  readonly value: string;
}

/**
 * Splits a query into its parameters, without decoding them. Source: URL Standard, application/x-www-form-urlencoded.
 */
export function splitQuery(query: string): QueryParameter[] {
  return query.split("&").map(splitParameter);
}

function splitParameter(text: string): QueryParameter {
  const equals = text.indexOf("=");
  return equals < 0 ? { name: text, value: "" } : { name: text.slice(0, equals), value: text.slice(equals + 1) };
}

/** Decodes a name or value, where `+` means a space. Throws `ContentFault`. */
export function decodeQueryText(text: string): string {
  return percentDecode(text.replaceAll("+", " "));
}

/** Decodes a name. Undefined if it is malformed, because no field has such a name. */
export function decodeQueryName(text: string): string | undefined {
  return isPercentEncoded(text) ? decodeQueryText(text) : undefined;
}
