import { InvalidArgumentError, Option } from "commander";
import { usageFailure } from "../failure.ts";
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
  const { type, description, byDefault, isSecret } = settings[key] as Setting<unknown>;
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
  return option.argParser(isSecret ? (given, former) => parseSecret(key, given, former) : type.parse);
}

/** Commander would repeat a bad value in its message. */
function parseSecret(key: SettingKey, given: string, former: unknown): unknown {
  try {
    return (settings[key] as Setting<unknown>).type.parse(given, former);
  } catch (error) {
    throw error instanceof InvalidArgumentError
      ? usageFailure(`the value of ${flagOf(key)} or ${variableOf(key)} is invalid. ${error.message}`)
      : error;
  }
}
