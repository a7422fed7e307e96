import type { Command } from "commander";
import { usageFailure } from "../failure.ts";
import { isChosenByUrl } from "../store-location.ts";
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

/** The parser of YAML is loaded where there is a file: it takes longer than the rest of a small command. */
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
  return (given ?? settings[key].byDefault) as SettingValues[Key];
}

/** The source of a value. */
export interface Source {
  readonly kind: "default" | "file" | "variable" | "flag";
  /** Such as `petstore.yaml:3`, `PETSTORE_PORT` or `--port`; undefined for a default. */
  readonly place: string | undefined;
}

/** The source of the value in force. */
export function sourceOf(command: Command, key: SettingKey): Source {
  const owner = ownerOf(command, key);
  if (key === "db" && owner !== undefined && isChosenByUrl(owner)) {
    return sourceOf(command, "database");
  }
  const source = owner?.getOptionValueSource(attributeOf(key)) ?? "default";
  switch (source) {
    case "default":
      return { kind: "default", place: undefined };
    case "env":
      return { kind: "variable", place: variableOf(key) };
    case "cli":
      return { kind: "flag", place: flagOf(key) };
    default:
      return { kind: "file", place: source };
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
