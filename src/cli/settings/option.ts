import { Option } from "commander";
import { type Setting, type SettingKey, settings } from "./settings.ts";

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

/** The option of a command for a setting: its flag and its variable. */
export function createOption(key: SettingKey): Option {
  const { type, description, byDefault } = settings[key] as Setting<unknown>;
  if (type.placeholder === undefined) {
    // Commander turns a switch on whenever its variable is set, even by PETSTORE_DEMO=0. So `resolve.ts` reads it.
    return new Option(flagOf(key), `${description} (env: ${variableOf(key)})`);
  }
  const option = new Option(`${flagOf(key)} ${type.placeholder}`, description).env(variableOf(key));
  if (type.choices !== undefined) {
    option.choices(type.choices);
  }
  if (byDefault !== undefined && !Array.isArray(byDefault)) {
    option.default(byDefault, String(type.write(byDefault)));
  }
  return option.argParser(type.parse);
}
