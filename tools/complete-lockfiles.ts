/**
 * Completes the files `package-lock.json`. Run it after every change of dependencies.
 *
 * - npm omits the optional packages of platforms for which it finds no binary. `npm ci` then refuses the file on the
 *   platforms that have them. So placeholders are added.
 * - npm installs an optional package where the lockfile's `engines` allow it. So the packages of Node get `engines`
 *   that allow only machines whose own Node is too old.
 * - npm warns of each package whose `engines` do not allow the machine's Node. `bin/node` runs them with a newer one,
 *   so all other `engines` are removed.
 *
 *     bin/node tools/complete-lockfiles.ts
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface LockedPackage {
  version: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  engines?: { node: string };
  optionalDependencies?: Record<string, string>;
}

/** The machine's Node versions that are too old to run the project. `bin/node` has the same bound. */
const tooOld = "<24";

for (const folder of ["..", "."]) {
  complete(join(import.meta.dirname, folder, "package-lock.json"));
}

function complete(file: string): void {
  const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, LockedPackage> };
  for (const parent of Object.values({ ...lock.packages })) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      if (/^\d/.test(version)) {
        lock.packages[`node_modules/${name}`] ??= placeholder(name, version, parent);
      }
    }
  }
  for (const locked of Object.values(lock.packages)) {
    delete locked.engines;
  }
  for (const name of Object.keys(lock.packages[""]?.optionalDependencies ?? {})) {
    (lock.packages[`node_modules/${name}`] as LockedPackage).engines = { node: tooOld };
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);
}

/** What npm would write for a package of another platform. The name ends in the platform: `buf-darwin-arm64`. */
function placeholder(name: string, version: string, parent: LockedPackage): LockedPackage {
  const words = name.split(/[-/]/);
  const os = words.find((word) =>
    ["darwin", "linux", "win32", "freebsd", "openbsd", "android", "openharmony"].includes(word),
  );
  const cpu = words.find((word) =>
    ["arm64", "x64", "ia32", "arm", "armv7", "ppc64", "riscv64", "s390x"].includes(word),
  );
  const libc = words.includes("musl") ? "musl" : words.includes("gnu") ? "glibc" : undefined;
  // In npm's order, so that npm does not reorder them.
  return {
    version,
    ...(cpu !== undefined && { cpu: [cpu] }),
    ...(parent.dev === true && { dev: true }),
    ...(libc !== undefined && { libc: [libc] }),
    optional: true,
    ...(os !== undefined && { os: [os] }),
  };
}
