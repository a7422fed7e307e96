import { type DescField, getOption, hasOption, type JsonObject, toJson } from "@bufbuild/protobuf";
import { FieldRulesSchema, field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import type { Schema } from "./types.ts";

/** The keywords of JSON Schema for the rules of protovalidate, by their names in ProtoJSON. */
const keywords: Readonly<Record<string, string>> = {
  gte: "minimum",
  gt: "exclusiveMinimum",
  lte: "maximum",
  lt: "exclusiveMaximum",
  minLen: "minLength",
  maxLen: "maxLength",
  pattern: "pattern",
  minItems: "minItems",
  maxItems: "maxItems",
  unique: "uniqueItems",
};

/** What an enum's list of names already says. */
const saidByNames = new Set(["definedOnly", "notIn"]);

/** Whether the rules of a field require a value. */
export function isRequired(field: DescField): boolean {
  return rulesOf(field).required === true;
}

/** The keywords for a field's rules, and for those of a list's items. */
export interface FieldConstraints {
  readonly value: Schema;
  readonly items: Schema;
}

/** Throws an `Error` for a rule without a keyword here: a description that omits a rule would be wrong. */
export function constraintsOf(field: DescField): FieldConstraints {
  const { required: _, ...typed } = rulesOf(field);
  const [[type, rules] = ["", {}]] = Object.entries(typed) as [string, JsonObject][];
  const { items = {}, ...own } = rules;
  const [[itemType, itemRules] = ["", {}]] = Object.entries(items as JsonObject) as [string, JsonObject][];
  return { value: toKeywords(field, type, own), items: toKeywords(field, itemType, itemRules) };
}

function rulesOf(field: DescField): JsonObject {
  return hasOption(field, fieldRules) ? (toJson(FieldRulesSchema, getOption(field, fieldRules)) as JsonObject) : {};
}

function toKeywords(field: DescField, type: string, rules: JsonObject): Schema {
  const told = Object.entries(rules).filter(([rule]) => !(type === "enum" && saidByNames.has(rule)));
  return Object.fromEntries(
    told.map(([rule, value]) => {
      const keyword = keywords[rule];
      if (keyword === undefined) {
        throw new Error(`${field.toString()}: the rule ${type}.${rule} has no keyword in OpenAPI`);
      }
      return [keyword, toKeywordValue(field, value)];
    }),
  );
}

/** ProtoJSON has 64-bit integers in strings, as no pattern is. */
function toKeywordValue(field: DescField, value: unknown): unknown {
  if (typeof value !== "string" || !/^-?\d+$/.test(value)) {
    return value;
  }
  if (!Number.isSafeInteger(Number(value))) {
    throw new Error(`${field.toString()}: a reader of JSON may take ${value} for another number`);
  }
  return Number(value);
}
