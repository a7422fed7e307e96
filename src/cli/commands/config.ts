import type { Command } from "commander";
import { formatTable, printableJson } from "../print/terminal.ts";
import { addServerSettings, type Source, settingKeys, settingValue, sourceOf } from "../settings/resolve.ts";
import { nameOf, type Setting, type SettingKey, settings } from "../settings/settings.ts";
import type { FileValue } from "../settings/value-type.ts";

/** `petstore config`: the settings in force. */
export function addConfig(program: Command): void {
  const config = program
    .command("config")
    .summary("show the settings of serve and their sources")
    .description("Shows the settings with which 'petstore serve' would run, given the same flags, and their sources.")
    .option("--json", "print an object with the value, source and place of each setting")
    .addHelpText("after", help)
    .action((_options, command: Command) => {
      const shown = settingKeys.map((key) => show(command, key));
      const unused = nameOf(settingValue(command, "database") === undefined ? "database" : "db");
      process.stdout.write(
        command.opts<{ json?: true }>().json
          ? `${printableJson(settingsToJson(shown))}\n`
          : formatSettings(shown.filter(({ name }) => name !== unused)),
      );
    });
  addServerSettings(config);
}

/** A setting as the operator sees it. */
interface ShownSetting {
  readonly name: string;
  /** As in the configuration file. Undefined when it is not set. */
  readonly value: FileValue | undefined;
  readonly source: Source;
}

function show(command: Command, key: SettingKey): ShownSetting {
  const { type } = settings[key] as Setting<unknown>;
  const value = settingValue(command, key);
  return {
    name: nameOf(key),
    value: value === undefined ? undefined : type.write(value),
    source: sourceOf(command, key),
  };
}

/** Writes settings for people, one per line. The value is last because it can be longer than a line. */
function formatSettings(shown: readonly ShownSetting[]): string {
  const rows = shown.map(({ name, value, source }) => [name, source.place ?? "default", toText(value)]);
  return formatTable([["SETTING", "FROM", "VALUE"], ...rows]);
}

function toText(value: FileValue | undefined): string {
  const text = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  return text === "" ? "-" : text;
}

/** Settings for programs, by name. */
function settingsToJson(shown: readonly ShownSetting[]): object {
  return Object.fromEntries(
    shown.map(({ name, value, source }) => [
      name,
      { value: value ?? null, source: source.kind, place: source.place ?? null },
    ]),
  );
}

const help = `
Flags override variables, variables override the file, and the file overrides
defaults. The file is YAML. It uses the names shown here. A switch is 'true' or
'false' ('1' or '0'), and several values are a list.

Examples:
  $ petstore config
  $ PETSTORE_PORT=80 petstore config --config /etc/petstore.yaml
  $ petstore config --json | jq -r '.["ops-port"].value'`;
