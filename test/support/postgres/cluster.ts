import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificate } from "../certificate.ts";
import { postgresPrograms } from "./programs.ts";

/** The owner of a cluster's databases, who needs no password: it would cost each connection milliseconds. */
export const owner = "petstore";

/** A user who needs one. */
export const guarded = { user: "guarded", password: "only for tests" } as const;

/** A PostgreSQL server in a temporary folder, on a free port of the loopback interface. */
export interface Cluster {
  readonly port: number;
  readonly folder: string;
  /** The id of the server's first process. */
  readonly pid: number;
  /** The authority of its certificate, in PEM, where it speaks TLS. */
  readonly authorityFile: string | undefined;
  /** Ends the server at once, as a crash does, and starts it again. */
  crash(): Promise<void>;
  /** Ends the server, and deletes its folder. */
  remove(): Promise<void>;
}

/** Settings for speed: a test's database need not outlive the machine. */
const settings = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "fsync=off",
  "full_page_writes=off",
  "max_connections=300",
  "shared_buffers=64MB",
  "autovacuum_naptime=5s",
];

/** Source: https://www.postgresql.org/docs/15/auth-pg-hba-conf.html */
const access = `
  host all ${owner} 127.0.0.0/8 trust
  host replication ${owner} 127.0.0.1/32 trust
  host all all 127.0.0.1/32 scram-sha-256
`;

/** How a cluster differs. */
interface ClusterOptions {
  /** Speak TLS, with a certificate for 127.0.0.1 alone, and listen on 127.0.0.2, too. */
  readonly tls?: boolean;
  readonly settings?: readonly string[];
  /** Be a replica of the server at this port, and follow it. */
  readonly primaryPort?: number;
}

/** Makes and starts a cluster. Its first database is `postgres`. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "petstore-postgres-"));
  const data = join(folder, "data");
  const account = accountOfServer();
  if (account !== undefined) {
    chownSync(folder, account.uid, account.gid);
  }
  const program = (name: string) => join(postgresPrograms ?? "", name);
  const [maker, flags] =
    options.primaryPort === undefined
      ? ["initdb", ["--auth=trust", "--encoding=UTF8", "--locale=C"]]
      : [
          "pg_basebackup",
          ["--write-recovery-conf", "--checkpoint=fast", `--port=${options.primaryPort}`, "--host=127.0.0.1"],
        ];
  execFileSync(program(maker), ["-D", data, "--no-sync", `--username=${owner}`, ...flags], {
    ...account,
    cwd: folder,
    stdio: "pipe",
  });
  writeFileSync(join(data, "pg_hba.conf"), access);
  const port = await freePort();
  const tls = options.tls === true ? makeCertificate(data, account) : undefined;
  const all = [...settings, `port=${port}`, ...(tls?.settings ?? []), ...(options.settings ?? [])];
  const args = all.flatMap((setting) => ["-c", setting]);
  async function start(): Promise<ChildProcess> {
    const started = spawn(program("postgres"), ["-D", data, ...args], {
      ...account,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    await readiness(started);
    return started;
  }
  let server = await start();
  return {
    port,
    folder,
    get pid() {
      return server.pid as number;
    },
    authorityFile: tls?.authorityFile,
    async crash() {
      const exited = once(server, "exit");
      server.kill("SIGQUIT");
      await exited;
      server = await start();
    },
    remove: async () => {
      await end(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root: then it runs as the account that its package makes. */
function accountOfServer(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  const idOf = (kind: "-u" | "-g") => Number(execFileSync("id", [kind, "postgres"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}

function makeCertificate(data: string, account: { uid: number; gid: number } | undefined) {
  const { certFile, keyFile } = createCertificate(data);
  chmodSync(keyFile, 0o600);
  if (account !== undefined) {
    chownSync(keyFile, account.uid, account.gid);
  }
  const files = [`ssl_cert_file=${certFile}`, `ssl_key_file=${keyFile}`];
  return { authorityFile: certFile, settings: ["ssl=on", ...files, "listen_addresses=127.0.0.1,127.0.0.2"] };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves when a server takes connections. Rejects with its log when it ends before. */
async function readiness(server: ChildProcess): Promise<void> {
  let log = "";
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-10_000);
    if (/ready to accept (read-only )?connections/.test(log)) {
      resolve();
    }
  });
  server.once("exit", () => reject(new Error(`PostgreSQL did not start: ${log}`)));
  await promise;
}

/** A fast shutdown: it disconnects whoever is connected. */
async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    const exited = once(server, "exit");
    server.kill("SIGCONT");
    server.kill("SIGINT");
    await exited;
  }
}
