import type { Command } from "commander";
import { usageFailure } from "../failure.ts";
import { switchForm } from "../parse/switch.ts";
import { createOption, flagOf, variableOf } from "./option.ts";
import type { Setting } from "./setting.ts";
import { type SettingKey, type SettingValues, settings } from "./settings.ts";
import { readSettingsFile } from "./settings-file.ts";

/** All settings, in the order in which they are shown. */
export const settingKeys = Object.keys(settings) as SettingKey[];

/** Gives a command the flags of settings. */
export function addSettings(command: Command, keys: readonly SettingKey[]): void {
  for (const key of keys) {
    command.addOption(createOption(key));
  }
}

/** Gives a command the flags of all settings. That of `db` is the program's, for every command. */
export function addServerSettings(command: Command): void {
  addSettings(
    command,
    settingKeys.filter((key) => key !== "db"),
  );
}

/**
 * Fills in, for the settings that a command and its parents take, what neither flags nor variables have given, from the
 * configuration file. All of the file is read and checked. Throws a `Failure`.
 */
export function applySettingsFile(command: Command): void {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  const file = config === undefined ? new Map() : readSettingsFile(config);
  for (const key of settingKeys) {
    const owner = ownerOf(command, key);
    if (owner === undefined || isGiven(owner, key)) {
      continue;
    }
    const variable = readSwitchVariable(key);
    const entry = file.get(key);
    if (variable !== undefined) {
      setValue(owner, key, variable, "env");
    } else if (entry !== undefined) {
      setValue(owner, key, entry.value, entry.place);
    }
  }
}

/** The values in force, of a command that has all settings. */
export function settingValues(command: Command): SettingValues {
  return Object.fromEntries(settingKeys.map((key) => [key, settingValue(command, key)])) as SettingValues;
}

/** The value in force of one setting, of a command that has it. */
export function settingValue<Key extends SettingKey>(command: Command, key: Key): SettingValues[Key] {
  const value = ownerOf(command, key)?.getOptionValue(attributeOf(key));
  // Commander has `--no-x` as an `x` that is true by default.
  const given = isNegated(key) ? value === false : value;
  return (given ?? settings[key].byDefault) as SettingValues[Key];
}

/** Where a value comes from. */
export interface Source {
  readonly kind: "default" | "file" | "variable" | "flag";
  /** What to look for there: `petstore.yaml:3`, `PETSTORE_PORT` or `--port`; undefined for a default. */
  readonly place: string | undefined;
}

/** Where the value in force of a setting comes from. */
export function sourceOf(command: Command, key: SettingKey): Source {
  const source = ownerOf(command, key)?.getOptionValueSource(attributeOf(key)) ?? "default";
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

/** The command, or the nearest of its parents, that takes the flag of a setting. */
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

/** What the variable of a switch says; undefined for other settings, which commander reads itself. */
function readSwitchVariable(key: SettingKey): unknown {
  const { kind } = settings[key] as Setting<unknown>;
  const text = process.env[variableOf(key)];
  if (kind.placeholder !== undefined || text === undefined) {
    return undefined;
  }
  try {
    return kind.parse(text, undefined);
  } catch {
    throw usageFailure(`${variableOf(key)} must be ${switchForm}, not ${JSON.stringify(text)}`);
  }
}
