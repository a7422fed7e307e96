import { prettyFactory } from "pino-pretty";
import { invisible } from "../domain/masking.ts";

/** The fields of every line of the log. */
interface Entry {
  readonly level: number;
  readonly time: number;
  readonly msg: string;
  readonly err?: unknown;
}

/** The further fields of a call's line. */
interface Call extends Entry {
  readonly status: number;
  readonly code: string;
  readonly method?: string;
  readonly durationMs: number;
  readonly protocol: string;
  readonly keyId?: string;
  readonly clientAddress?: string;
}

/** Fields that are printed elsewhere on the line, or are the same on all lines. */
const common = ["level", "time", "msg", "err", "pid", "hostname"];

/** Fields that are printed elsewhere on a call's line, and those that are for programs only. */
const ofCalls = ["status", "code", "method", "durationMs", "protocol", "keyId", "clientAddress"];
const forPrograms = ["requestBytes", "responseBytes"];

/** Formats the log's JSON lines as text for people: one line each, and the stack of an error below. */
export function createTerminalFormat({ colour }: { readonly colour: boolean }): (line: string) => string {
  const format = prettyFactory({ colorize: colour });
  return (line) => {
    const entry = JSON.parse(line) as Entry;
    const { level, time, msg, err } = entry;
    const parts = msg === "call" ? describeCall(entry as Call) : [msg, ...describeFields(entry, common)];
    return format({ level, time, msg: printable(parts.join(", ")), err });
  };
}

/** Such as `200 OK PetService/GetPet in 1.2 ms, rest, key_…, 127.0.0.1`: the most important comes first. */
function describeCall(call: Call): string[] {
  const { status, code, method, durationMs, protocol, keyId, clientAddress } = call;
  const name = method?.replace(/^.*\./, "") ?? "unknown";
  const caller = [protocol, keyId, clientAddress].filter((part) => part !== undefined);
  const others = describeFields(call, [...common, ...ofCalls, ...forPrograms]);
  return [`${status} ${code} ${name} in ${durationMs.toFixed(1)} ms`, ...caller, ...others];
}

function describeFields(entry: Entry, omitted: readonly string[]): string[] {
  return Object.entries(entry)
    .filter(([name]) => !omitted.includes(name))
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
}

/** Replaces characters that a terminal would obey, or not show. */
function printable(text: string): string {
  return text.replaceAll(invisible, "\ufffd");
}
