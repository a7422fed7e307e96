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

/** What a configuration file says of one setting. */
export interface FileEntry {
  readonly value: unknown;
  /** Where it says so, such as `petstore.yaml:3`. */
  readonly place: string;
}

/** What a configuration file says, by the settings' keys. */
export type SettingsFile = ReadonlyMap<SettingKey, FileEntry>;

/**
 * Reads a configuration file: YAML, in which the settings stand under their names. One without a value counts as unset,
 * as an empty variable does. Throws a `Failure` that names the file and the line, for whatever is wrong in it.
 */
export function readSettingsFile(file: string): SettingsFile {
  const lines = new LineCounter();
  // The parser would compare each name with all others.
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
      throw usageFailure(`${place}: '${name}' stands in ${seen.get(key)} already`);
    }
    seen.set(key, `line ${lines.linePos(offset ?? 0).line}`);
    const given = plainValue(node);
    if (given !== null) {
      entries.set(key, { value: readFileValue(key, given, place), place });
    }
  }
  return entries;
}

/** What the parser says of these means something to programmers alone. */
const faults: Partial<Record<ErrorCode, string>> = {
  MULTIPLE_DOCS: "a file holds one document, and another one begins here",
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
    throw usageFailure(`${placeAt(contents.range?.[0])}: it must hold one setting a line, such as 'port: 8080'`);
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

/**
 * Only one value, or a list of them: whatever has more structure, or an alias, stays an object, which no setting takes.
 */
function plainValue(node: Node | null): unknown {
  return isSeq(node) ? node.items.map(scalarValue) : scalarValue(node);
}

function scalarValue(node: unknown): unknown {
  return isScalar(node) ? node.value : node;
}
