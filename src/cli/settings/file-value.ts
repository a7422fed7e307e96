import { InvalidArgumentError } from "commander";
import { mask, maskCredentials } from "../../domain/masking.ts";
import { usageFailure } from "../failure.ts";
import { truncate } from "../print/table.ts";
import { nameOf } from "./option.ts";
import { type Setting, type SettingKey, settings } from "./settings.ts";
import type { FileType, ValueType } from "./value-type.ts";

/** A YAML value without parts. */
type Scalar = string | number | boolean;

/** How much of a wrong value a message shows, in characters. */
const maxShown = 100;

const typeNames = { text: "a text", number: "a number", switch: "true or false" } as const;

/** Reads the value of a setting in the file. Throws a `Failure` that begins with `place` for a wrong value. */
export function readFileValue(key: SettingKey, given: unknown, place: string): unknown {
  const setting = settings[key] as Setting<unknown>;
  const scalars = Array.isArray(setting.byDefault) && Array.isArray(given) ? given : [given];
  let value: unknown;
  for (const scalar of scalars) {
    if (!isScalar(scalar)) {
      throw usageFailure(`${place}: '${nameOf(key)}' takes ${scalars === given ? "plain values" : "one plain value"}`);
    }
    value = readScalar(setting.type, scalar, value, (expected) =>
      usageFailure(`${place}: value '${shown(setting, scalar)}' of '${nameOf(key)}' is invalid. ${expected}`),
    );
  }
  return value ?? setting.byDefault;
}

function shown({ isSecret }: Setting<unknown>, scalar: Scalar): string {
  return isSecret ? mask : truncate(maskCredentials(String(scalar)), maxShown);
}

function isScalar(value: unknown): value is Scalar {
  return typeof value !== "object";
}

/** The parser's message on a bad value says more than that its YAML type is wrong, so it comes first. */
function readScalar(
  type: ValueType<unknown>,
  given: Scalar,
  former: unknown,
  refuse: (expected: string) => Error,
): unknown {
  const value = parse(type, given, former, refuse);
  if (!type.fileTypes.includes(typeOf(given))) {
    throw refuse(`It must be ${type.fileTypes.map((each) => typeNames[each]).join(" or ")}.`);
  }
  return value;
}

function parse(type: ValueType<unknown>, given: Scalar, former: unknown, refuse: (expected: string) => Error): unknown {
  try {
    return type.parse(String(given), former);
  } catch (error) {
    throw error instanceof InvalidArgumentError ? refuse(error.message) : error;
  }
}

function typeOf(given: Scalar): FileType {
  if (typeof given === "boolean") {
    return "switch";
  }
  return typeof given === "number" ? "number" : "text";
}
