import type { Command } from "commander";
import { usageFailure } from "../failure.ts";
import { printable } from "../print/terminal.ts";
import {
  createOption,
  flagOf,
  type Setting,
  type SettingKey,
  type SettingValues,
  settings,
  variableOf,
} from "./settings.ts";
import type { SettingsFile } from "./settings-file.ts";
import { switchForm } from "./value-type.ts";

/** All settings, in the order of the help. */
export const settingKeys = Object.keys(settings) as SettingKey[];

/** Gives a command the flags of settings. */
export function addSettings(command: Command, keys: readonly SettingKey[]): void {
  for (const key of keys) {
    command.addOption(createOption(key));
  }
}

/** Gives a command the flags of all settings but those of the store, which the program has for every command. */
export function addServerSettings(command: Command): void {
  addSettings(
    command,
    settingKeys.filter((key) => key !== "db" && key !== "database"),
  );
}

/**
 * Reads the configuration file, and applies it to the settings of a command and its parents that no flag or variable
 * has given. The whole file is checked, whatever the command. Throws a `Failure`.
 */
export async function applySettingsFile(command: Command): Promise<void> {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  const file = config === undefined ? undefined : await loadSettingsFile(config);
  for (const key of settingKeys) {
    const owner = ownerOf(command, key);
    if (owner === undefined || isGiven(owner, key)) {
      continue;
    }
    const variable = readSwitchVariable(key);
    const entry = file?.get(key);
    if (variable !== undefined) {
      setValue(owner, key, variable, "env");
    } else if (entry !== undefined) {
      setValue(owner, key, entry.value, entry.place);
    }
  }
}

/** Loads the parser of YAML only if there is a file: loading it takes longer than the rest of a small command. */
async function loadSettingsFile(file: string): Promise<SettingsFile> {
  const { readSettingsFile } = await import("./settings-file.ts");
  return readSettingsFile(file);
}

/** The values in force for a command that has all settings. */
export function settingValues(command: Command): SettingValues {
  return Object.fromEntries(settingKeys.map((key) => [key, settingValue(command, key)])) as SettingValues;
}

/** The value in force of one setting, for a command that has it. */
export function settingValue<Key extends SettingKey>(command: Command, key: Key): SettingValues[Key] {
  const value = ownerOf(command, key)?.getOptionValue(attributeOf(key));
  // Commander stores `--no-x` as an `x` that is true by default.
  const given = isNegated(key) ? value === false : value;
  return (given ?? settings[key].defaultValue) as SettingValues[Key];
}

/** From the weakest to the strongest. */
const sourceKinds = ["default", "file", "variable", "flag"] as const;

type SourceKind = (typeof sourceKinds)[number];

/** The source of a value. */
export interface Source {
  readonly kind: SourceKind;
  /** Such as `petstore.yaml:3`, `PETSTORE_PORT` or `--port`; undefined for a default. */
  readonly place: string | undefined;
}

/** The source of the value in force. */
export function sourceOf(command: Command, key: SettingKey): Source {
  const owner = ownerOf(command, key);
  if (key === "db" && owner !== undefined && isChosenByUrl(owner)) {
    return sourceOf(command, "database");
  }
  const source = owner?.getOptionValueSource(attributeOf(key));
  const kind = kindOf(source);
  const places = { default: undefined, file: source, variable: variableOf(key), flag: flagOf(key) };
  return { kind, place: places[kind] };
}

/** Higher for a stronger source of a value. */
export function strengthOf(command: Command, key: SettingKey): number {
  const source = ownerOf(command, key)?.getOptionValueSource(attributeOf(key));
  return sourceKinds.indexOf(kindOf(source));
}

/** Takes a source as commander names it. The source of a value from the file is its place there. */
function kindOf(source = "default"): SourceKind {
  switch (source) {
    case "default":
      return "default";
    case "env":
      return "variable";
    case "cli":
      return "flag";
    default:
      return "file";
  }
}

/** The command itself, or its nearest parent, that has the flag of a setting. */
function ownerOf(command: Command | null, key: SettingKey): Command | undefined {
  if (command === null) {
    return undefined;
  }
  const takesIt = command.options.some(({ long }) => long === flagOf(key));
  return takesIt ? command : ownerOf(command.parent, key);
}

function isGiven(owner: Command, key: SettingKey): boolean {
  return ["cli", "env"].includes(owner.getOptionValueSource(attributeOf(key)) ?? "");
}

function setValue(owner: Command, key: SettingKey, value: unknown, source: string): void {
  owner.setOptionValueWithSource(attributeOf(key), isNegated(key) ? !value : value, source);
}

function attributeOf(key: SettingKey): string {
  return createOption(key).attributeName();
}

function isNegated(key: SettingKey): boolean {
  return createOption(key).negate;
}

/** The value of a switch by its variable; undefined for other settings, whose variables commander reads. */
function readSwitchVariable(key: SettingKey): unknown {
  const { type } = settings[key] as Setting<unknown>;
  const text = process.env[variableOf(key)];
  if (type.placeholder !== undefined || text === undefined) {
    return undefined;
  }
  try {
    return type.parse(text, undefined);
  } catch {
    throw usageFailure(`${variableOf(key)} must be ${switchForm}, not ${JSON.stringify(text)}`);
  }
}

/**
 * Combines `--db` and `--database`: the value of `db` becomes a file, or the URL of a PostgreSQL database. The stronger
 * source wins. Throws a `Failure` if both come from equally strong sources.
 */
export function chooseStore(program: Command): void {
  const { database } = program.opts<{ database?: string }>();
  if (database === undefined) {
    return;
  }
  const [ofFile, ofUrl] = [strengthOf(program, "db"), strengthOf(program, "database")];
  if (ofFile === ofUrl) {
    const [file, url] = [sourceOf(program, "db"), sourceOf(program, "database")];
    if (url.kind === "file") {
      throw usageFailure(`${url.place}: 'database' and 'db' (${file.place}) both name the store: give one of them`);
    }
    throw usageFailure(
      "--db is short for --database sqlite:FILE: give one of them, also by PETSTORE_DB and PETSTORE_DATABASE",
    );
  }
  if (ofUrl > ofFile) {
    program.setOptionValueWithSource("db", locationOf(database), program.getOptionValueSource("database"));
  } else {
    program.setOptionValueWithSource("database", undefined, "default");
  }
}

/** The place of a store with this URL: a file, or the URL of a PostgreSQL database. */
export function locationOf(database: string): string {
  return database.startsWith("sqlite:") ? database.slice("sqlite:".length) : database;
}

/** Whether the store was chosen by `--database`. */
function isChosenByUrl(program: Command): boolean {
  const { db, database } = program.opts<{ db?: string; database?: string }>();
  return database !== undefined && db === locationOf(database);
}

/** Removes the empty `PETSTORE_…` variables: an empty value in a container's settings means that it is not set. */
export function dropEmptyVariables(env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith("PETSTORE_") && value === "") {
      delete env[name];
    }
  }
}

/** The variables that the service reads. */
const knownVariables = [...settingKeys.map(variableOf), "PETSTORE_CONFIG", "PETSTORE_COPY_FROM", "PETSTORE_COPY_TO"];

/** The variables of the client samples and of the tests. */
const otherVariables = /^PETSTORE_(API_KEY$|TEST_)/;

/**
 * The variables that Kubernetes sets in every pod for a Service whose name begins with `petstore`, and that Docker sets
 * for a link.
 *
 * Source: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const serviceLinks = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;
const serviceAddress = /^(tcp|udp|sctp):\/\//;

/** A line that names the `PETSTORE_…` variables that the service does not know. Undefined when there are none. */
export function describeUnknownVariables(env: NodeJS.ProcessEnv): string | undefined {
  const unknown = Object.entries(env).filter(([name, value = ""]) => isUnknown(name, value));
  const named = unknown.map(([name]) => {
    const meant = nearestOf(name);
    return printable(name) + (meant === undefined ? "" : ` (did you mean ${meant}?)`);
  });
  return named.length === 0 ? undefined : `no setting has the variable ${named.join(", ")}`;
}

function isUnknown(name: string, value: string): boolean {
  const isOurs = name.startsWith("PETSTORE_") && !knownVariables.includes(name) && !otherVariables.test(name);
  return isOurs && !serviceLinks.test(name) && !serviceAddress.test(value);
}

/** The known variable that differs by one or two typing errors, but by no more than half of the name. */
function nearestOf(name: string): string | undefined {
  const maxDistance = Math.min(2, (name.length - "PETSTORE_".length) / 2);
  const [nearest] = knownVariables
    .map((each) => ({ each, distance: levenshtein(name, each) }))
    .filter(({ distance }) => distance <= maxDistance)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.each;
}

/** The Levenshtein distance: the number of characters to insert, remove or replace. Computed row by row. */
function levenshtein(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(from).entries()) {
    const next = [index + 1];
    for (const [at, other] of Array.from(to).entries()) {
      const replaced = (row[at] as number) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] as number) + 1, (next[at] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
