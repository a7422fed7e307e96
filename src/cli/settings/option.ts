import { Option } from "commander";
import type { Setting } from "./setting.ts";
import { type SettingKey, settings } from "./settings.ts";

/** The name of a setting in the configuration file, such as `ops-port`. */
export function nameOf(key: SettingKey): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The variable of a setting, such as `PETSTORE_OPS_PORT`. */
export function variableOf(key: SettingKey): string {
  return `PETSTORE_${nameOf(key).replaceAll("-", "_").toUpperCase()}`;
}

/** The flag of a setting, such as `--ops-port`. */
export function flagOf(key: SettingKey): string {
  return `--${nameOf(key)}`;
}

/** A setting's flag for a command, with its variable. */
export function createOption(key: SettingKey): Option {
  const { kind, description, byDefault } = settings[key] as Setting<unknown>;
  if (kind.placeholder === undefined) {
    // Commander would take a switch for given as soon as its variable is there, PETSTORE_DEMO=0 included.
    return new Option(flagOf(key), `${description} (env: ${variableOf(key)})`);
  }
  const option = new Option(`${flagOf(key)} ${kind.placeholder}`, description).env(variableOf(key));
  if (kind.choices !== undefined) {
    option.choices(kind.choices);
  }
  if (byDefault !== undefined && !Array.isArray(byDefault)) {
    option.default(byDefault, String(kind.write(byDefault)));
  }
  return option.argParser(kind.parse);
}
