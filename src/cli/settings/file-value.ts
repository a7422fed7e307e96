import { InvalidArgumentError } from "commander";
import { usageFailure } from "../failure.ts";
import { truncate } from "../print/table.ts";
import { nameOf } from "./option.ts";
import type { Setting } from "./setting.ts";
import { type SettingKey, settings } from "./settings.ts";
import type { FileType, Kind } from "./value-type.ts";

/** A value in a file that has no parts. */
type Scalar = string | number | boolean;

/** Of a value that is wrong, in characters: more would hide what is said of it. */
const maxShown = 100;

const typeNames = { text: "a text", number: "a number", switch: "true or false" } as const;

/** Reads what stands in a file for a setting. `place` begins the line of the `Failure` for what it does not take. */
export function readFileValue(key: SettingKey, given: unknown, place: string): unknown {
  const setting = settings[key] as Setting<unknown>;
  const scalars = Array.isArray(setting.byDefault) && Array.isArray(given) ? given : [given];
  let value: unknown;
  for (const scalar of scalars) {
    if (!isScalar(scalar)) {
      throw usageFailure(`${place}: '${nameOf(key)}' takes ${scalars === given ? "plain values" : "one plain value"}`);
    }
    value = readScalar(setting.kind, scalar, value, (expected) =>
      usageFailure(
        `${place}: value '${truncate(String(scalar), maxShown)}' of '${nameOf(key)}' is invalid. ${expected}`,
      ),
    );
  }
  return value ?? setting.byDefault;
}

function isScalar(value: unknown): value is Scalar {
  return typeof value !== "object";
}

/** The kind's own word on a bad value tells more than that its type is wrong: it comes first. */
function readScalar(kind: Kind<unknown>, given: Scalar, former: unknown, refuse: (expected: string) => Error): unknown {
  const value = parse(kind, given, former, refuse);
  if (!kind.fileTypes.includes(typeOf(given))) {
    throw refuse(`It must be ${kind.fileTypes.map((type) => typeNames[type]).join(" or ")}.`);
  }
  return value;
}

function parse(kind: Kind<unknown>, given: Scalar, former: unknown, refuse: (expected: string) => Error): unknown {
  try {
    return kind.parse(String(given), former);
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
