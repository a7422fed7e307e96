import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { Command } from "commander";
import type { ServerConfig } from "../../server/config.ts";
import type { RunningServer } from "../../server/server.ts";
import { prepareDemo } from "../demo/demo.ts";
import { describeListenError } from "../listen-error.ts";
import type { ServerSignals } from "../server-signals.ts";
import { addServerSettings, settingValues } from "../settings/resolve.ts";
import { readServerConfig } from "./serve-config.ts";

/** `petstore serve`. */
export function addServe(program: Command, signals: ServerSignals): void {
  const serve = program
    .command("serve")
    .summary("serve the API")
    .description("Serves the API on one port, and health on another. Creates or migrates the store first.")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const values = settingValues(command);
      const config = readServerConfig(values);
      await (values.demo ? serveDemo(config, signals) : serveStore(config, signals));
    });
  addServerSettings(serve);
}

async function serveStore(config: ServerConfig, signals: ServerSignals): Promise<void> {
  const running = await start(config);
  // The operator's port is known to whoever has named it.
  const announcement = readyLine(running) + (config.opsPort === 0 ? operatorLine(running) : "");
  await serveUntilStopped(running, { signals, announcement });
}

async function serveDemo(config: ServerConfig, signals: ServerSignals): Promise<void> {
  const secret = await prepareDemo(config.db);
  const running = await start(config);
  // Whoever tries TLS out has most likely signed the certificate alone.
  const trust = config.tls === undefined ? "" : "--insecure ";
  const curl = `curl ${trust}-H "Authorization: Bearer ${secret}" ${running.url}/v1/inventory`;
  const announcement = `${readyLine(running)}${operatorLine(running)}
The reference is at ${running.url}/docs

Try it:

  ${curl}

`;
  await serveUntilStopped(running, { signals, announcement });
}

interface Serving {
  readonly signals: ServerSignals;
  /** What is said on stdout, unless the server was told to stop before it was ready. */
  readonly announcement: string;
}

async function serveUntilStopped(running: RunningServer, { signals, announcement }: Serving): Promise<never> {
  signals.handOver(running);
  // Signals are only heard between turns of the event loop, and a start may be a single turn.
  await setImmediate();
  const end = AbortSignal.any([signals.stop, running.broken]);
  if (!end.aborted) {
    process.stdout.write(announcement);
    running.logStart();
    void warmUp(running);
    await once(end, "abort");
  }
  if (!(await running.stop())) {
    // To exit would be to wait for the thread that waits for the disk.
    process.kill(process.pid, "SIGKILL");
  }
  // While Node winds itself up, signals have their usual meaning again. And nothing that is left may hold the process.
  process.exit(running.broken.aborted ? 1 : 0);
}

/** Loads what the first calls would wait for, and gives back the memory that the start has used, some 40 MB. */
async function warmUp(running: RunningServer): Promise<void> {
  await running.warmUp();
  // There with --expose-gc alone, which bin/petstore gives.
  await globalThis.gc?.({ type: "major", execution: "async", flavor: "last-resort" });
}

async function start(config: ServerConfig): Promise<RunningServer> {
  // Loaded only here: the other commands start in half the time without it.
  const { startServer } = await import("../../server/server.ts");
  try {
    return await startServer(config);
  } catch (error) {
    throw describeListenError(error) ?? error;
  }
}

/** Other programs wait for this line: it stands first on stdout, and tells that the server is ready. */
function readyLine({ url }: RunningServer): string {
  return `petstore listening on ${url}\n`;
}

/** Other programs look for this line second, where the port was a free one. */
function operatorLine({ opsUrl }: RunningServer): string {
  return `petstore operator port on ${opsUrl}\n`;
}

const help = `
The first line on stdout, 'petstore listening on http://HOST:PORT', tells that
the server is ready; logs go to stderr. A configuration file (--config) has the
flags' names without dashes, one a line, such as 'ops-port: 9090'. Flags are
stronger than variables, and variables than the file; 'petstore config' shows
what is in force.

SIGTERM, SIGINT and SIGHUP let running calls finish, and end it with exit code
0; a second one ends it at once, with 143, 130 or 129. SIGUSR2 has it log at
'debug', and back.

Examples:
  $ petstore serve
  $ petstore serve --demo --port 0
  $ petstore serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
  $ petstore serve --config /etc/petstore.yaml
  $ PETSTORE_PORT=80 PETSTORE_TRUSTED_PROXY=10.0.0.0/8 petstore serve`;
