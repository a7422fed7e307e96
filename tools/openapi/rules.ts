import { type DescField, type DescMessage, getOption, hasOption, type JsonObject, toJson } from "@bufbuild/protobuf";
import {
  FieldRulesSchema,
  field as fieldRules,
  MessageRulesSchema,
  message as messageRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { description } from "./comments.ts";
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

/** JSON Schema compares no durations: programs may ignore these. */
const durationKeywords: Readonly<Record<string, string>> = { gte: "x-minimum", lte: "x-maximum" };

/** The rules that an enum's list of names already expresses. */
const saidByNames = new Set(["definedOnly", "notIn"]);

/** A duration that is not negative, as ProtoJSON writes it: seconds, with up to nine digits behind the point. */
export const unsignedDurationPattern = "^[0-9]+(\\.[0-9]{1,9})?s$";

/** Whether the rules of a field require a value. A list that is left out is empty, so it may have too few items. */
export function isRequired(field: DescField): boolean {
  const { required, repeated } = rulesOf(field) as { required?: boolean; repeated?: { minItems?: string } };
  return required === true || Number(repeated?.minItems ?? 0) > 0;
}

/** The keywords for a field's rules, and for those of a list's items. */
export interface FieldConstraints {
  readonly value: Schema;
  readonly items: Schema;
}

/**
 * Throws an `Error` for a rule without a keyword here, unless `describeField` tells it: a description that omits a rule
 * would be wrong.
 */
export function constraintsOf(field: DescField): FieldConstraints {
  const { required: _required, cel = [], ...typed } = rulesOf(field);
  const [[type, rules] = ["", {}]] = Object.entries(typed) as [string, JsonObject][];
  const { items = {}, ...own } = rules;
  const [[itemType, itemRules] = ["", {}]] = Object.entries(items as JsonObject) as [string, JsonObject][];
  const value = { ...toKeywords(field, type, own), ...celKeywords(cel as { expression: string }[]) };
  return { value, items: toKeywords(field, itemType, itemRules) };
}

/** The keywords for the rules in CEL that are one pattern, or refuse 0. */
function celKeywords(cel: readonly { readonly expression: string }[]): Schema {
  const patterns = cel.flatMap(({ expression }) => /^this\.matches\(r'([^']*)'\)$/.exec(expression)?.[1] ?? []);
  return {
    ...(patterns.length > 0 && { pattern: patterns[0] }),
    ...(cel.some(({ expression }) => expression === "this != 0") && { not: { const: 0 } }),
  };
}

/** The comment on a field as Markdown, and what its rules in CEL say. */
export function describeField(field: DescField): string {
  const { cel = [] } = rulesOf(field) as { cel?: { message: string }[] };
  const told = cel.map(({ message }) => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
  return [description(field), ...told].join(" ");
}

/**
 * The keywords for the rules of a message. Throws an `Error` for any but one that requires one of two fields. Generators
 * take a `oneOf` beside properties for types without a name, and one of them gives the type up.
 */
export function messageConstraintsOf(desc: DescMessage): Schema {
  if (!hasOption(desc, messageRules)) {
    return {};
  }
  const { oneof = [], ...others } = toJson(MessageRulesSchema, getOption(desc, messageRules)) as {
    oneof?: { fields: string[]; required?: boolean }[];
  };
  const [rule, ...further] = oneof;
  const jsonNames = rule?.fields.map((name) => desc.fields.find((field) => field.name === name)?.jsonName);
  if (jsonNames?.length !== 2 || rule?.required !== true || further.length > 0 || Object.keys(others).length > 0) {
    throw new Error(`${desc.toString()} has rules without a keyword in OpenAPI`);
  }
  const [one, other] = jsonNames;
  return { if: { required: [one] }, else: { required: [other] }, not: { required: [one, other] } };
}

function rulesOf(field: DescField): JsonObject {
  return hasOption(field, fieldRules) ? (toJson(FieldRulesSchema, getOption(field, fieldRules)) as JsonObject) : {};
}

function toKeywords(field: DescField, type: string, rules: JsonObject): Schema {
  const told = Object.entries(rules).filter(([rule]) => !(type === "enum" && saidByNames.has(rule)));
  const entries = told.map(([rule, value]) => {
    const keyword = type === "duration" ? durationKeywords[rule] : keywords[rule];
    if (keyword === undefined) {
      throw new Error(`${field.toString()}: the rule ${type}.${rule} has no keyword in OpenAPI`);
    }
    return [keyword, toKeywordValue(field, value)];
  });
  const isUnsigned = type === "duration" && typeof rules.gte === "string" && !rules.gte.startsWith("-");
  return { ...Object.fromEntries(entries), ...(isUnsigned && { pattern: unsignedDurationPattern }) };
}

/** ProtoJSON writes 64-bit integers as strings. No pattern looks like one. */
function toKeywordValue(field: DescField, value: unknown): unknown {
  if (typeof value !== "string" || !/^-?\d+$/.test(value)) {
    return value;
  }
  if (!Number.isSafeInteger(Number(value))) {
    throw new Error(`${field.toString()}: a reader of JSON may take ${value} for another number`);
  }
  return Number(value);
}
