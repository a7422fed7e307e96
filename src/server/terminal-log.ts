import { prettyFactory } from "pino-pretty";

/** What every line of the log has, besides fields of its own. */
interface Entry {
  readonly level: number;
  readonly time: number;
  readonly msg: string;
  readonly err?: unknown;
}

/** What the line of a call has as well. */
interface Call extends Entry {
  readonly status: number;
  readonly code: string;
  readonly method?: string;
  readonly durationMs: number;
  readonly protocol: string;
  readonly keyId?: string;
  readonly clientAddress?: string;
}

/** What stands elsewhere on the line, or is the same on all of them. */
const common = ["level", "time", "msg", "err", "pid", "hostname"];

/** What stands elsewhere on the line of a call, or is for programs alone. */
const ofCalls = ["status", "code", "method", "durationMs", "protocol", "keyId", "clientAddress"];
const forPrograms = ["requestBytes", "responseBytes"];

/** Makes text for people of the log's lines, which are JSON: one line each, but for the stack of an error. */
export function createTerminalFormat({ colour }: { readonly colour: boolean }): (line: string) => string {
  const format = prettyFactory({ colorize: colour });
  return (line) => {
    const entry = JSON.parse(line) as Entry;
    const { level, time, msg, err } = entry;
    const parts = msg === "call" ? describeCall(entry as Call) : [msg, ...describeFields(entry, common)];
    return format({ level, time, msg: printable(parts.join(", ")), err });
  };
}

/** Such as `200 OK PetService/GetPet in 1.2 ms, rest, key_…, 127.0.0.1`: what matters most comes first. */
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

/** A terminal obeys some characters, and does not show others. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
