import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The versions that a machine has. */
export interface Versions {
  readonly node: string;
  readonly npm: string;
}

/** A user's machine: Node, npm, the system's commands, and nothing else. */
export interface Machine {
  readonly versions: Versions;
  /** Its folder for all that is installed. */
  readonly folder: string;
  /** PATH and an empty HOME. */
  readonly env: NodeJS.ProcessEnv;
}

/** The commands that npm's scripts, the launcher and the tests use. There is no compiler, no make and no Python. */
const systemCommands = ["sh", "uname", "readlink", "env", "git", "which", "openssl", "curl", "ls", "rm", "cat"];

/** What a process on this machine needs to reach the registry. */
const network = ["HTTPS_PROXY", "https_proxy", "NODE_EXTRA_CA_CERTS", "npm_config_registry", "SSL_CERT_FILE"];

/** Makes a machine below a folder. Machines share the versions of Node and npm that are already installed there. */
export function createMachine(scratch: string, versions: Versions): Machine {
  const folder = mkdtempSync(join(scratch, "machine-"));
  const commands = join(folder, "bin");
  const home = join(folder, "home");
  mkdirSync(commands);
  mkdirSync(home);
  for (const command of systemCommands) {
    symlinkSync(execFileSync("which", [command], { encoding: "utf8" }).trim(), join(commands, command));
  }
  symlinkSync(join(nodePackage(scratch, versions.node), "bin/node"), join(commands, "node"));
  for (const name of ["npm", "npx"]) {
    symlinkSync(join(npmPackage(scratch, versions.npm), `bin/${name}-cli.js`), join(commands, name));
  }
  const reach = network.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { versions, folder, env: { ...Object.fromEntries(reach), PATH: commands, HOME: home } };
}

function nodePackage(scratch: string, version: string): string {
  return installed(scratch, `node-${process.platform}-${process.arch}`, version);
}

function npmPackage(scratch: string, version: string): string {
  return installed(scratch, "npm", version);
}

/** The folder of a package, which this machine's npm installs. */
function installed(scratch: string, name: string, version: string): string {
  const prefix = join(scratch, `${name}-${version}`);
  if (!existsSync(prefix)) {
    mkdirSync(prefix);
    writeFileSync(join(prefix, "package.json"), "{}");
    try {
      execFileSync("npm", ["install", "--silent", "--ignore-scripts", `${name}@${version}`], { cwd: prefix });
    } catch (error) {
      rmSync(prefix, { recursive: true });
      throw error;
    }
  }
  return join(prefix, "node_modules", name);
}
