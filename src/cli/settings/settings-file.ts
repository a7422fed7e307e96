import { InvalidArgumentError } from "commander";
import {
  type Document,
  type ErrorCode,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLParseError,
} from "yaml";
import { mask, maskCredentials } from "../../domain/masking.ts";
import { readSmallFile } from "../arguments.ts";
import { usageFailure } from "../failure.ts";
import { truncate } from "../print/terminal.ts";
import { nameOf, type Setting, type SettingKey, settings } from "./settings.ts";
import type { FileType, ValueType } from "./value-type.ts";

/** The entry of one setting in a configuration file. */
interface FileEntry {
  readonly value: unknown;
  /** Such as `petstore.yaml:3`. */
  readonly place: string;
}

/** The entries of a configuration file. */
export type SettingsFile = ReadonlyMap<SettingKey, FileEntry>;

/**
 * Reads a configuration file: a YAML map from the names of settings to values. A setting without a value is not set, as
 * with an empty variable. Throws a `Failure` that names the file and the line.
 */
export function readSettingsFile(file: string): SettingsFile {
  const lines = new LineCounter();
  // The parser's own check for repeated keys takes quadratic time. `seen` below takes linear time.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false };
  const document = parseDocument(readSmallFile(file), options);
  const placeAt = (offset: number | undefined) => `${file}:${lines.linePos(offset ?? 0).line}`;
  const [fault] = document.errors;
  if (fault !== undefined) {
    throw usageFailure(`${placeAt(fault.pos[0])}: ${describeFault(fault)}`);
  }
  const entries = new Map<SettingKey, FileEntry>();
  const seen = new Map<SettingKey, string>();
  for (const { name, node, offset } of pairsOf(document, placeAt)) {
    const place = placeAt(offset);
    const key = keyOf(name, place);
    if (seen.has(key)) {
      throw usageFailure(`${place}: '${name}' is already on ${seen.get(key)}`);
    }
    seen.set(key, `line ${lines.linePos(offset ?? 0).line}`);
    const given = plainValue(node);
    if (given !== null) {
      entries.set(key, { value: readFileValue(key, given, place), place });
    }
  }
  return entries;
}

/** Messages for users, in place of the parser's messages for programmers. */
const faults: Partial<Record<ErrorCode, string>> = {
  MULTIPLE_DOCS: "a second document begins here; a file holds one",
  RESOURCE_EXHAUSTION: "it is nested too deeply",
};

function describeFault({ code, message }: YAMLParseError): string {
  return `not valid YAML: ${faults[code] ?? message.split("\n", 1)[0]}`;
}

interface NamedNode {
  readonly name: string;
  readonly node: Node | null;
  readonly offset: number | undefined;
}

function pairsOf(document: Document, placeAt: (offset: number | undefined) => string): NamedNode[] {
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) {
    return [];
  }
  if (!isMap(contents)) {
    throw usageFailure(`${placeAt(contents.range?.[0])}: it must hold one setting per line, such as 'port: 8080'`);
  }
  return contents.items.map(({ key, value }) => ({
    name: isScalar(key) ? String(key.value) : String(key),
    node: value as Node | null,
    offset: (key as Node).range?.[0],
  }));
}

function keyOf(name: string, place: string): SettingKey {
  const key = (Object.keys(settings) as SettingKey[]).find((each) => nameOf(each) === name);
  if (key === undefined) {
    throw usageFailure(`${place}: there is no setting '${name}'; 'petstore config' shows them all`);
  }
  return key;
}

/** A scalar, or a list of scalars. Anything else, such as a map or an alias, stays an object, which no setting accepts. */
function plainValue(node: Node | null): unknown {
  return isSeq(node) ? node.items.map(scalarValue) : scalarValue(node);
}

function scalarValue(node: unknown): unknown {
  return isScalar(node) ? node.value : node;
}

/** A YAML value without parts. */
type Scalar = string | number | boolean;

/** How much of a wrong value a message shows, in characters. */
const maxShown = 100;

const typeNames = { text: "a text", number: "a number", switch: "true or false" } as const;

/** Reads the value of a setting in the file. Throws a `Failure` that begins with `place` for a wrong value. */
function readFileValue(key: SettingKey, given: unknown, place: string): unknown {
  const setting = settings[key] as Setting<unknown>;
  const scalars = Array.isArray(setting.defaultValue) && Array.isArray(given) ? given : [given];
  let value: unknown;
  for (const scalar of scalars) {
    if (!isPlain(scalar)) {
      throw usageFailure(`${place}: '${nameOf(key)}' takes ${scalars === given ? "plain values" : "one plain value"}`);
    }
    value = readScalar(setting.type, scalar, value, (expected) =>
      usageFailure(`${place}: value '${shown(setting, scalar)}' of '${nameOf(key)}' is invalid. ${expected}`),
    );
  }
  return value ?? setting.defaultValue;
}

function shown({ isSecret }: Setting<unknown>, scalar: Scalar): string {
  return isSecret ? mask : truncate(maskCredentials(String(scalar)), maxShown);
}

function isPlain(value: unknown): value is Scalar {
  return typeof value !== "object";
}

/** The parser's message on a bad value says more than that its YAML type is wrong, so it comes first. */
function readScalar(
  type: ValueType<unknown>,
  given: Scalar,
  former: unknown,
  refuse: (expected: string) => Error,
): unknown {
  const value = parseScalar(type, given, former, refuse);
  if (!type.fileTypes.includes(typeOf(given))) {
    throw refuse(`It must be ${type.fileTypes.map((each) => typeNames[each]).join(" or ")}.`);
  }
  return value;
}

function parseScalar(
  type: ValueType<unknown>,
  given: Scalar,
  former: unknown,
  refuse: (expected: string) => Error,
): unknown {
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
