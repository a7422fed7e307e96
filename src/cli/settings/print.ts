import { mask } from "../../observability/masking.ts";
import { formatTable } from "../print/table.ts";
import type { Source } from "./resolve.ts";
import type { FileValue } from "./value-type.ts";

/** A setting as the operator sees it. */
export interface ShownSetting {
  readonly name: string;
  /** As in the configuration file. Undefined when it is not set. */
  readonly value: FileValue | undefined;
  readonly isSecret: boolean;
  readonly source: Source;
}

/** Writes settings for people, one per line. The value is last because it can be longer than a line. */
export function formatSettings(shown: readonly ShownSetting[]): string {
  const rows = shown.map((setting) => [setting.name, setting.source.place ?? "default", toText(masked(setting))]);
  return formatTable([["SETTING", "FROM", "VALUE"], ...rows]);
}

/** Settings for programs, by name. */
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
