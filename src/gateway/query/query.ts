import { maxJsonDepth } from "../../exact-json/parse.ts";
import { ContentFault, faultWithin } from "../content-fault.ts";
import type { Fields } from "../fields/field-access.ts";
import type { Branch, QueryField, QueryFields } from "./query-fields.ts";
import { decodeQueryName, decodeQueryText, splitQuery } from "./url-text.ts";

/**
 * Sets the fields of a message from a query. It ignores parameters that name no field, or a field in `bound` (proto
 * names, joined by dots), which comes from the path or the body. It refuses a field that a query cannot set, and a
 * second value for a field that is not a list. Parameters such as `a.b.c` go as deep as JSON may.
 *
 * Throws `ContentFault`.
 */
export function readQuery(query: string, fields: QueryFields, bound: ReadonlySet<string>, message: Fields): void {
  if (query === "") {
    return;
  }
  const given = new Set<string>();
  for (const { name: sentName, value } of splitQuery(query)) {
    const name = decodeQueryName(sentName);
    const target = name === undefined ? undefined : findTarget(name.split("."), fields, bound);
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
