/**
 * Completes `package-lock.json`: npm leaves out the optional packages of platforms for which it finds no binary, and
 * then `npm ci` refuses the file on the platforms that have them. Run it after every change of dependencies.
 *
 *     node tools/lock-platforms.ts
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
  optionalDependencies?: Record<string, string>;
}

const file = join(import.meta.dirname, "..", "package-lock.json");
const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, LockedPackage> };

for (const parent of Object.values({ ...lock.packages })) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    if (/^\d/.test(version)) {
      lock.packages[`node_modules/${name}`] ??= placeholder(name, version, parent);
    }
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);

/** What npm would write of a package for another platform, whose name ends in it, such as `buf-darwin-arm64`. */
function placeholder(name: string, version: string, parent: LockedPackage): LockedPackage {
  const words = name.split(/[-/]/);
  const os = words.find((word) =>
    ["darwin", "linux", "win32", "freebsd", "openbsd", "android", "openharmony"].includes(word),
  );
  const cpu = words.find((word) =>
    ["arm64", "x64", "ia32", "arm", "armv7", "ppc64", "riscv64", "s390x"].includes(word),
  );
  const libc = words.includes("musl") ? "musl" : words.includes("gnu") ? "glibc" : undefined;
  // In npm's order, so that it leaves them as they are.
  return {
    version,
    ...(cpu !== undefined && { cpu: [cpu] }),
    ...(parent.dev === true && { dev: true }),
    ...(libc !== undefined && { libc: [libc] }),
    optional: true,
    ...(os !== undefined && { os: [os] }),
  };
}
