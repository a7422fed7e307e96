import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { setImmediate } from "node:timers/promises";
import { createSecureContext } from "node:tls";
import type { Command } from "commander";
import type { Store } from "../../domain/store.ts";
import type { ServerConfig } from "../../server/config.ts";
import type { RunningServer } from "../../server/server.ts";
import { readSmallFile } from "../arguments.ts";
import { prepareDemo } from "../demo/demo.ts";
import { Failure, listenFailure, systemFailure, usageFailure } from "../failure.ts";
import { preventUndiciLoad } from "../node-faults.ts";
import type { ServerSignals } from "../server-signals.ts";
import { addServerSettings, settingValues, sourceOf } from "../settings/resolve.ts";
import type { SettingValues } from "../settings/settings.ts";
import { showMigration } from "../store.ts";

/** `petstore serve`. */
export function addServe(program: Command, signals: ServerSignals): void {
  const serve = program
    .command("serve")
    .summary("serve the API")
    .description("Serves the API on one port, and health and metrics on another. Creates or migrates the store first.")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const values = settingValues(command);
      const config = readServerConfig(values, command);
      await tryPorts(config);
      await (values.demo ? serveDemo(config, signals) : serveStore(config, signals));
    });
  addServerSettings(serve);
}

/** Listens on both ports for a moment, so that a server that cannot do so is refused before it changes the store. */
async function tryPorts({ host, port, opsHost, opsPort }: ServerConfig): Promise<void> {
  await using servers = new AsyncDisposableStack();
  try {
    for (const address of [
      { host, port },
      { host: opsHost, port: opsPort },
    ]) {
      await once(servers.use(createServer((socket) => socket.destroy())).listen(address), "listening");
    }
  } catch (error) {
    throw listenFailure(error) ?? error;
  }
}

async function serveStore(config: ServerConfig, signals: ServerSignals): Promise<void> {
  const running = await start(config);
  // The operator port is announced only if it was not given.
  const announcement = readyLine(running) + (config.opsPort === 0 ? operatorLine(running) : "");
  await serveUntilStopped(running, { signals, announcement });
}

async function serveDemo(config: ServerConfig, signals: ServerSignals): Promise<void> {
  let secret = "";
  const running = await start(config, async (store) => {
    secret = await prepareDemo(store);
  });
  // A demo most likely has a self-signed certificate.
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
  /** Written to stdout when the server is ready, unless it was told to stop before. */
  readonly announcement: string;
}

async function serveUntilStopped(running: RunningServer, { signals, announcement }: Serving): Promise<never> {
  signals.handOver(running);
  // Signals arrive only between turns of the event loop, and a start may be a single turn.
  await setImmediate();
  const end = AbortSignal.any([signals.stop, running.broken]);
  if (!end.aborted) {
    process.stdout.write(announcement);
    running.logStart();
    void warmUp(running);
    await once(end, "abort");
  }
  const outcome = await running.stop();
  if (outcome === "disk silent") {
    // An exit would wait for the thread that waits for the disk.
    process.kill(process.pid, "SIGKILL");
  }
  // Nothing that is left may keep the process alive.
  process.exit(outcome === "released" && !running.broken.aborted ? 0 : 1);
}

/** Loads what the first calls would wait for, and frees the memory that the start has used, some 40 MB. */
async function warmUp(running: RunningServer): Promise<void> {
  await running.warmUp();
  // Defined only with --expose-gc, which bin/petstore passes.
  await globalThis.gc?.({ type: "major", execution: "async", flavor: "last-resort" });
}

/** `prepare` changes the store once the server has it. */
async function start(config: ServerConfig, prepare?: (store: Store) => Promise<void>): Promise<RunningServer> {
  const { startServer, UnusableValkeyError } = await loadServer();
  try {
    return await showMigration(config.db, (migrating) => startServer(config, { migrating, prepare }));
  } catch (error) {
    throw error instanceof UnusableValkeyError ? new Failure(error.message) : (listenFailure(error) ?? error);
  }
}

/** Without the server's modules, the other commands start in half the time. */
function loadServer() {
  preventUndiciLoad();
  return import("../../server/server.ts");
}

/** The first line on stdout. Other programs wait for it: it says that the server is ready. */
function readyLine({ url }: RunningServer): string {
  return `petstore listening on ${url}\n`;
}

/** The second line on stdout when the system chose the operator port. Other programs read it. */
function operatorLine({ opsUrl }: RunningServer): string {
  return `petstore operator port on ${opsUrl}\n`;
}

const help = `
The first line on stdout, 'petstore listening on http://HOST:PORT', says that
the server is ready. Logs go to stderr. A configuration file (--config) has the
names of the flags without dashes, one per line, such as 'ops-port: 9090'. Flags
override variables, and variables override the file. 'petstore config' shows the
values in force.

SIGTERM, SIGINT and SIGHUP let running calls finish, and end the server with
exit code 0. A second signal, half a second or more after the first, ends it at
once, with 143, 130 or 129. SIGUSR2 turns the log level 'debug' on and off.

Examples:
  $ petstore serve
  $ petstore serve --demo --port 0
  $ petstore serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
  $ petstore serve --config /etc/petstore.yaml
  $ PETSTORE_PORT=80 PETSTORE_TRUSTED_PROXY=10.0.0.0/8 petstore serve`;

/** Creates the configuration of the server from the settings. Throws a `Failure` for a bad certificate or key. */
function readServerConfig(values: SettingValues, command: Command): ServerConfig {
  return {
    db: values.db,
    host: values.host,
    port: values.port,
    opsHost: values.opsHost,
    opsPort: values.opsPort,
    tls: readTls(values, command),
    reflection: !values.noReflection,
    baseUrls: { production: values.baseUrl, staging: values.stagingBaseUrl },
    corsOrigins: values.corsOrigin,
    maxBodyBytes: values.maxBody,
    requestTimeoutMs: values.requestTimeout,
    shutdownGraceMs: values.shutdownGrace,
    trustedProxies: values.trustedProxy,
    limits: values.limits,
    limitsFallback: values.limitsFallback,
    enforceSunset: values.enforceSunset,
    historyRetentionMs: values.historyRetention,
    allowPrivateWebhooks: values.allowPrivate,
    secretKey: values.secretKey,
    logLevel: values.logLevel,
  };
}

function readTls({ tlsCert: certFile, tlsKey: keyFile }: SettingValues, command: Command): ServerConfig["tls"] {
  if (certFile === undefined && keyFile === undefined) {
    return undefined;
  }
  if (certFile === undefined || keyFile === undefined) {
    const { kind, place } = sourceOf(command, certFile === undefined ? "tlsKey" : "tlsCert");
    throw usageFailure(`${kind === "file" ? `${place}: ` : ""}--tls-cert and --tls-key go together`);
  }
  const tls = { cert: readSmallFile(certFile), key: readSmallFile(keyFile) };
  const key = parsePem(() => createPrivateKey(tls.key), `${keyFile} for TLS: ${describeBadKey(tls.key)}`);
  const certificate = parsePem(() => new X509Certificate(tls.cert), `${certFile} for TLS: no certificate in PEM`);
  if (!certificate.checkPrivateKey(key)) {
    throw new Failure(`cannot use ${certFile} with ${keyFile} for TLS: the key is not that of the certificate`);
  }
  try {
    createSecureContext(tls);
  } catch (error) {
    throw systemFailure(`use ${certFile} with ${keyFile} for TLS`, error);
  }
  return tls;
}

/** Throws a `Failure` in place of OpenSSL's errors, most of which name what failed within OpenSSL. */
function parsePem<T>(parse: () => T, failure: string): T {
  try {
    return parse();
  } catch {
    throw new Failure(`cannot use ${failure}`);
  }
}

function describeBadKey(pem: string): string {
  return /\bENCRYPTED\b/.test(pem) ? "the key is encrypted; give one without a passphrase" : "no private key in PEM";
}
