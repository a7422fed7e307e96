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
import { readSmallFile } from "../bounded-file.ts";
import { usageFailure } from "../failure.ts";
import { readFileValue } from "./file-value.ts";
import { nameOf } from "./option.ts";
import { type SettingKey, settings } from "./settings.ts";

/** The entry of one setting in a configuration file. */
export interface FileEntry {
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
  // The check of the parser takes quadratic time. `seen` below takes linear time.
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

/** Messages for users where those of the parser are for programmers. */
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
