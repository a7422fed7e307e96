import { type Command, Option } from "commander";
import { usageFailure } from "./failure.ts";

const settings: Partial<Record<string, boolean>> = {
  "0": false,
  false: false,
  no: false,
  off: false,
  "1": true,
  true: true,
  yes: true,
  on: true,
};

/**
 * Adds a flag without a value, and its environment variable. Commander takes such a flag for given as soon as the
 * variable is there, `PETSTORE_DEMO=0` included; here the variable's value decides. When the command runs, other
 * values throw a usage `Failure`.
 */
export function addSwitch(command: Command, flag: string, description: string, variable: string): void {
  const option = new Option(flag, `${description} (env: ${variable})`);
  command.addOption(option).hook("preAction", () => {
    if (isOn(variable)) {
      command.setOptionValueWithSource(option.attributeName(), !option.negate, "env");
    }
  });
}

function isOn(variable: string): boolean {
  const value = process.env[variable] ?? "false";
  const setting = settings[value.toLowerCase()];
  if (setting === undefined) {
    throw usageFailure(`${variable} must be true or false, not ${JSON.stringify(value)}`);
  }
  return setting;
}
