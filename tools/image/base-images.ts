import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Buildah } from "./buildah.ts";

/**
 * Makes the Dockerfile's base images, under their names, from the Debian packages that the real ones are made of, for
 * machines without a registry. Node is the project's own, and npm this machine's.
 */
export function makeBaseImages(buildah: Buildah, folder: string): void {
  const dockerfile = readFileSync(join(import.meta.dirname, "../..", "Dockerfile"), "utf8");
  const [node = "", distroless = ""] = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name);
  const archive = join(folder, "base.tar");

  // The certificates that npm trusts here.
  const trusted = `NODE_EXTRA_CA_CERTS=${process.env.NODE_EXTRA_CA_CERTS ?? ""}`;
  install(archive, "minbase", ["libatomic1", "libstdc++6"], `copy-in ${gatherNode(folder)} /usr`);
  buildah.import(archive, `docker.io/library/${node}`, "--env", `PATH=${path}`, "--env", trusted);

  install(archive, "extract", distrolessPackages);
  buildah.import(archive, distroless, "--env", `PATH=${path}`, "--user", "65532");
}

const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The packages of gcr.io/distroless/cc-debian13. */
const distrolessPackages = [
  "base-files",
  "ca-certificates",
  "gcc-14-base",
  "libc6",
  "libgcc-s1",
  "libgomp1",
  "libssl3t64",
  "libstdc++6",
  "media-types",
  "netbase",
  "tzdata",
];

/** Packs the files of packages of Debian 13. */
function install(archive: string, variant: string, packages: readonly string[], ...hooks: readonly string[]): void {
  const options = [
    `--variant=${variant}`,
    `--include=${packages.join(",")}`,
    ...hooks.map((hook) => `--customize-hook=${hook}`),
  ];
  execFileSync("mmdebstrap", ["--quiet", ...options, "trixie", archive]);
}

/** Lays out Node and npm as in `/usr/local`. */
function gatherNode(folder: string): string {
  const local = join(folder, "local");
  const npm = dirname(dirname(realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim())));
  mkdirSync(join(local, "bin"), { recursive: true });
  cpSync(process.execPath, join(local, "bin/node"));
  cpSync(npm, join(local, "lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(local, "bin/npm"));
  return local;
}
