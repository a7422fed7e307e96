/**
 * Writes `dist/`, the npm package: a bundle of the source and of its dependencies with a chunk for each command, the
 * files that it reads, and its manifest. `npm run pack` packs it.
 *
 *     bin/node tools/build.ts
 */
import { chmodSync, cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "rolldown";
import manifest from "../package.json" with { type: "json" };
import { licensesOf } from "./licenses.ts";

const root = join(import.meta.dirname, "..");
const output = join(root, "dist");

/** Not bundled: it finds its binary beside its own files. */
const external = ["better-sqlite3"] as const;

/** What the package takes from the repository unchanged. */
const copied = [
  "bin",
  "proto",
  "ops",
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "SECURITY.md",
  "docs/clients.md",
  "docs/contract.md",
  "docs/operations.md",
  "docs/reliability.md",
];

/** The files that the source reads. `lib/` has them in the same folders. */
const read = ["gen/openapi.json", "src/reference/assets", "src/reference/chapters"];

rmSync(output, { recursive: true, force: true });
const { output: chunks } = await build({
  cwd: root,
  input: {
    petstore: "src/main.ts",
    "src/storage/sqlite/writer/writer-thread": "src/storage/sqlite/writer/writer-thread.ts",
  },
  platform: "node",
  external: [...external],
  plugins: [ownPlaces()],
  output: {
    dir: join(output, "lib"),
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    // For images without a shell, where `bin/petstore` cannot run. NODE_OPTIONS cannot have this flag.
    banner: ({ name }) => (name === "petstore" ? "#!/usr/bin/env -S node --no-maglev" : ""),
  },
});
chmodSync(join(output, "lib/petstore.js"), 0o755);
for (const name of copied) {
  cpSync(join(root, name), join(output, name), { recursive: true });
}
for (const page of globSync("**/*.md", { cwd: output })) {
  const file = join(output, page);
  writeFileSync(file, withoutMissing(readFileSync(file, "utf8"), dirname(file)));
}
for (const name of read) {
  const isCode = (path: string) => path.endsWith(".ts");
  cpSync(join(root, name), join(output, "lib", name), { recursive: true, filter: (path) => !isCode(path) });
}
const modules = chunks.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
writeFileSync(join(output, "THIRD-PARTY-LICENSES"), licensesOf(modules));
writeFileSync(join(output, "package.json"), `${JSON.stringify(packageManifest(), undefined, 2)}\n`);

/** Lets a module find its files as if it were not bundled. */
function ownPlaces(): Plugin {
  return {
    name: "own-places",
    transform(code, id) {
      const path = relative(root, id);
      if (!path.startsWith("src") || !code.includes("import.meta.")) {
        return null;
      }
      const folder = JSON.stringify(`/${dirname(path)}`);
      const file = JSON.stringify(`./${path.replace(/\.ts$/, ".js")}`);
      return code
        .replaceAll("import.meta.dirname", `(import.meta.dirname + ${folder})`)
        .replaceAll("import.meta.url", `new URL(${file}, import.meta.url).href`);
    },
  };
}

/**
 * Replaces the links of a page by their texts where they lead to files that only the repository has. `folder` is that
 * of the page.
 */
function withoutMissing(text: string, folder: string): string {
  return text.replace(/\[([^\]]+)\]\(([^)\s]+)\)/g, (link, label: string, target: string) => {
    const [path = ""] = target.split("#");
    return /^https?:/.test(target) || path === "" || existsSync(join(folder, path)) ? link : label;
  });
}

/** The package depends on what is not bundled, and brings Node for machines whose own is too old. */
function packageManifest() {
  const { name, version, description, license, type, bin, dependencies, optionalDependencies } = manifest;
  const needed = Object.fromEntries(external.map((dependency) => [dependency, dependencies[dependency]]));
  return { name, version, description, license, type, bin, dependencies: needed, optionalDependencies };
}
