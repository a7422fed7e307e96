import type { Command } from "commander";
import { fetchStatus } from "../ops-client.ts";
import { printableJson } from "../print/printable.ts";
import { formatStatus } from "../print/status-text.ts";
import { addSettings, settingValue } from "../settings/resolve.ts";

/** `petstore status`: the running server at a glance. */
export function addStatus(program: Command): void {
  const status = program
    .command("status")
    .summary("show the running server at a glance")
    .description("Asks a running server, on its operator's port, how it is.")
    .option("--ops-url <url>", "where the operator's port is (default: made of --ops-host and --ops-port)")
    .option("--json", "print the server's answer as it is")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const { opsUrl = localOpsUrl(command), json } = command.opts<{ opsUrl?: string; json?: true }>();
      const answer = await fetchStatus(opsUrl);
      process.stdout.write(json ? `${printableJson(answer)}\n` : formatStatus(answer, Date.now()));
    });
  addSettings(status, ["opsHost", "opsPort"]);
}

/** By which address a server is reached that listens everywhere: it listens on this machine too. */
const loopbacks: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

/** Where a server of the same settings is to be asked. */
function localOpsUrl(command: Command): string {
  const host = settingValue(command, "opsHost");
  const reached = loopbacks.get(host) ?? host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${settingValue(command, "opsPort")}`;
}

const help = `
Exits with 1 when no server answers. A server that is stopping answers, and is
not ready.

Examples:
  $ petstore status
  $ petstore status --ops-url http://10.0.0.7:9090
  $ petstore status --json | jq .calls`;
