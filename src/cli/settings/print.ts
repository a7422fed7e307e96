import { mask } from "../../observability/credentials.ts";
import { formatTable } from "../print/table.ts";
import type { Source } from "./resolve.ts";
import type { FileValue } from "./value-type.ts";

/** A setting as it is shown to the operator. */
export interface ShownSetting {
  readonly name: string;
  /** As it would stand in the configuration file. Undefined when it is not set. */
  readonly value: FileValue | undefined;
  readonly isSecret: boolean;
  readonly source: Source;
}

/** Settings for people, one a line. Values may be longer than a line, and so stand last. */
export function formatSettings(shown: readonly ShownSetting[]): string {
  const rows = shown.map((setting) => [setting.name, setting.source.place ?? "default", toText(masked(setting))]);
  return formatTable([["SETTING", "FROM", "VALUE"], ...rows]);
}

/** Settings for programs, by their names. */
export function settingsToJson(shown: readonly ShownSetting[]): object {
  return Object.fromEntries(
    shown.map((setting) => [
      setting.name,
      { value: masked(setting) ?? null, source: setting.source.kind, place: setting.source.place ?? null },
    ]),
  );
}

function masked({ value, isSecret }: ShownSetting): FileValue | undefined {
  return isSecret && value !== undefined ? mask : value;
}

function toText(value: FileValue | undefined): string {
  const text = Array.isArray(value) ? value.join(", ") : String(value ?? "");
  return text === "" ? "-" : text;
}
