import type { Command } from "commander";
import { printableJson } from "../print/printable.ts";
import { nameOf } from "../settings/option.ts";
import { formatSettings, type ShownSetting, settingsToJson } from "../settings/print.ts";
import { addServerSettings, settingKeys, settingValue, sourceOf } from "../settings/resolve.ts";
import { type Setting, type SettingKey, settings } from "../settings/settings.ts";

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
      process.stdout.write(
        command.opts<{ json?: true }>().json ? `${printableJson(settingsToJson(shown))}\n` : formatSettings(shown),
      );
    });
  addServerSettings(config);
}

function show(command: Command, key: SettingKey): ShownSetting {
  const { type, isSecret } = settings[key] as Setting<unknown>;
  const value = settingValue(command, key);
  return {
    name: nameOf(key),
    value: value === undefined ? undefined : type.write(value),
    isSecret,
    source: sourceOf(command, key),
  };
}

const help = `
Flags override variables, variables override the file, and the file overrides
defaults. The file is YAML. It uses the names shown here. A switch is 'true' or
'false' ('1' or '0'), and several values are a list.

Examples:
  $ petstore config
  $ PETSTORE_PORT=80 petstore config --config /etc/petstore.yaml
  $ petstore config --json | jq -r '.["ops-port"].value'`;
