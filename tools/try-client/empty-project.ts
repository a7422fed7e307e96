import { execFile } from "node:child_process";
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");

/** The tools of a user's project. */
export interface Runtime {
  /** The program. */
  readonly node: string;
  /** The program, with its first arguments. */
  readonly npm: readonly [string, ...string[]];
}

/** What an installation of the client brought. */
export interface Installation {
  /** How many packages were installed, the client included. */
  readonly packages: number;
  /** The size of all files, in bytes. */
  readonly apparentBytes: number;
  /** What they take up on the disk, folders included, in bytes. */
  readonly diskBytes: number;
  /** The commands that the packages have put into `node_modules/.bin`. */
  readonly commands: readonly string[];
}

/** Packs the client into a folder. Returns the package's file. */
export async function packClient(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    "npm",
    ["run", "--silent", "pack", "--workspace", "client", "--", "--pack-destination", folder],
    { cwd: root, env: environment() },
  );
  return join(folder, stdout.trim());
}

/** The folder of a new project, as `npm init` leaves it. */
export class EmptyProject {
  readonly folder: string;
  readonly #runtime: Runtime;

  constructor(folder: string, runtime: Runtime) {
    this.folder = folder;
    this.#runtime = runtime;
    mkdirSync(folder);
  }

  /** Installs a package's file, and nothing else. */
  async install(file: string): Promise<Installation> {
    const quiet = ["--no-audit", "--no-fund", "--no-update-notifier"];
    await this.#npm("init", "--yes");
    await this.#npm("install", "--prefer-offline", ...quiet, file);
    return readInstallation(join(this.folder, "node_modules"));
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Copies a file of the repository into the project, under a name of its own. */
  copy(source: string, name: string): void {
    cpSync(join(root, source), join(this.folder, name));
  }

  /** Runs a JavaScript or TypeScript file, with further variables in its environment. Returns what it prints. */
  run(args: readonly string[], variables: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.#execute([this.#runtime.node, ...args], variables);
  }

  async #execute([program = "", ...args]: readonly string[], variables = {}): Promise<string> {
    const options = { cwd: this.folder, env: { ...environment(), ...variables } };
    return (await promisify(execFile)(program, args, options)).stdout;
  }

  #npm(...args: readonly string[]): Promise<string> {
    return this.#execute([...this.#runtime.npm, ...args]);
  }
}

/** The environment without npm's variables for scripts, and without this repository's commands. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"));
  const path = process.env.PATH?.split(delimiter).filter((folder) => !folder.endsWith(join("node_modules", ".bin")));
  return { ...Object.fromEntries(kept), PATH: path?.join(delimiter) };
}

function readInstallation(modules: string): Installation {
  const names = readdirSync(modules, { recursive: true, encoding: "utf8" });
  const entries = names.map((name) => lstatSync(join(modules, name)));
  const manifests = names.filter((name) => /^(@[^/]+\/)?[^/@.]+\/package\.json$/.test(name));
  const bin = join(modules, ".bin");
  return {
    packages: manifests.length,
    apparentBytes: entries.reduce((sum, { size }) => sum + size, 0),
    diskBytes: entries.reduce((sum, { blocks }) => sum + blocks * 512, 0),
    commands: existsSync(bin) ? readdirSync(bin) : [],
  };
}
