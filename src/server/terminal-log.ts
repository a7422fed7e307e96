import { prettyFactory } from "pino-pretty";

/** What every line of the log has. */
interface Entry {
  readonly level: number;
  readonly time: number;
  readonly msg: string;
  readonly pid?: unknown;
  readonly hostname?: unknown;
  readonly err?: unknown;
}

/** Makes text for people of the log's lines, which are JSON: one line each, but for the stack of an error. */
export function createTerminalFormat({ colour }: { readonly colour: boolean }): (line: string) => string {
  const format = prettyFactory({ colorize: colour });
  return (line) => {
    const { level, time, msg, pid, hostname, err, ...fields } = JSON.parse(line) as Entry;
    const text = msg === "call" ? describeCall(fields) : [msg, ...describeFields(fields)].join(", ");
    return format({ level, time, msg: printable(text), err });
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Such as `200 OK PetService/GetPet in 1.2 ms, rest, key_…, 127.0.0.1`: what matters most comes first. */
function describeCall(call: Fields): string {
  const { status, code, method, durationMs, protocol, keyId, clientAddress, requestBytes, responseBytes, ...others } =
    call;
  const name = String(method ?? "unknown").replace(/^.*\./, "");
  const caller = [protocol, keyId, clientAddress].filter((part) => part !== undefined);
  return [
    `${status} ${code} ${name} in ${Number(durationMs).toFixed(1)} ms`,
    ...caller,
    ...describeFields(others),
  ].join(", ");
}

function describeFields(fields: Fields): string[] {
  return Object.entries(fields).map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
}

/** A terminal obeys some characters, and does not show others. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
