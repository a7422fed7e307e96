import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { Command } from "commander";
import { entryOfServer } from "../../domain/server-status.ts";
import { isPostgresUrl } from "../../domain/store.ts";
import { Failure } from "../failure.ts";
import { fetchStatus } from "../ops-client.ts";
import { formatServers, formatStatus } from "../print/status.ts";
import { printableJson } from "../print/terminal.ts";
import { addSettings, settingValue, sourceOf, strengthOf } from "../settings/resolve.ts";

interface StatusOptions {
  readonly opsUrl?: string;
  readonly json?: true;
}

/** `petstore status`: the running server at a glance, or all servers that share a database. */
export function addStatus(program: Command): void {
  const status = program
    .command("status")
    .summary("show the running server at a glance, or all that share a database")
    .description(
      "Reads the status of a running server from its operator port. With --database postgres://…, lists the servers that share the database.",
    )
    .option("--ops-url <url>", "the operator port (default: that of --ops-host and --ops-port)")
    .option("--json", "print the answer of the server as it is, or the list as JSON")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const options = command.opts<StatusOptions>();
      if (isAboutDatabase(command, options)) {
        await printServers(command, options);
      } else {
        await printServer(command, options, namedFile(command));
      }
    });
  addSettings(status, ["opsHost", "opsPort"]);
}

/** Throws a `Failure` if `file` is given and the server serves another store. */
async function printServer(
  command: Command,
  { opsUrl = localOpsUrl(command), json }: StatusOptions,
  file: string | undefined,
): Promise<void> {
  const answer = await fetchStatus(opsUrl);
  if (file !== undefined && isOtherStore(answer.db.path, file)) {
    throw new Failure(`the server at ${opsUrl} serves another store: ${answer.db.path}`);
  }
  process.stdout.write(json ? `${printableJson(answer)}\n` : formatStatus(answer, Date.now()));
}

/** Loads the code that reads stores only here, because health checks run this command often. */
async function printServers(command: Command, { json }: StatusOptions): Promise<void> {
  const { listServersOf } = await import("../store.ts");
  const servers = (await listServersOf(settingValue(command, "db"))).map(entryOfServer);
  process.stdout.write(json ? `${printableJson({ servers })}\n` : formatServers(servers, Date.now()));
}

/**
 * Whether the settings name a database, and no equally strong source names an operator port. So a health check within a
 * server's own environment asks that server.
 */
function isAboutDatabase(command: Command, { opsUrl }: StatusOptions): boolean {
  const strengthOfPort = Math.max(strengthOf(command, "opsHost"), strengthOf(command, "opsPort"));
  const isStronger = strengthOf(command, "db") > strengthOfPort;
  return opsUrl === undefined && isStronger && isPostgresUrl(settingValue(command, "db"));
}

/**
 * The file of the store, if a flag names one. Variables and the file of settings are those of the server: it may run in
 * another folder, or as another user. Throws a `Failure` if the file is not there, as what answers would be the server
 * of another store.
 */
function namedFile(command: Command): string | undefined {
  const file = settingValue(command, "db");
  if (sourceOf(command, "db").kind !== "flag" || isPostgresUrl(file)) {
    return undefined;
  }
  if (isMissing(file)) {
    throw new Failure(`${file}: there is no such store`);
  }
  return file;
}

/** A file in a folder that cannot be read is not known to be missing. */
function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/**
 * Whether what a server serves is certainly not this file. An older server may tell a path that is relative to its own
 * folder, and a server in a container one that this machine does not have.
 */
function isOtherStore(served: string, file: string): boolean {
  if (!isAbsolute(served)) {
    return isPostgresUrl(served);
  }
  try {
    const [theirs, ours] = [statSync(served, { bigint: true }), statSync(file, { bigint: true })];
    return theirs.dev !== ours.dev || theirs.ino !== ours.ino;
  } catch {
    return false;
  }
}

/** A server that listens on all addresses is reached by the loopback address. */
const loopbacks: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

/** The operator port of a server with the same settings. */
function localOpsUrl(command: Command): string {
  const host = settingValue(command, "opsHost");
  const reached = loopbacks.get(host) ?? host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${settingValue(command, "opsPort")}`;
}

const help = `
Exits with 1 when no server answers. A server that is stopping still answers,
but is not ready.

The list of --database has the servers that live, and for an hour those that
were killed. With --ops-url, the operator port is asked instead. With --ops-host
or --ops-port, it is asked unless --database comes from a stronger source. A
flag is the strongest source, then a variable, then the file of settings.

With --db FILE the operator port is asked, too. A file that does not exist is an
error, and so is a server that serves another store.

Examples:
  $ petstore status
  $ petstore status --database postgres://petstore@db.example/petstore
  $ petstore status --ops-url http://10.0.0.7:9090
  $ petstore status --json | jq .calls`;
