/**
 * Writes `dist/`, which is the package as it is published: JavaScript with its types, and a manifest that leads to
 * them. In a checkout the workspace's own manifest leads to the source, which Node runs as it is.
 *
 *     npm run build -w client
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const output = join(folder, "dist");

rmSync(output, { recursive: true, force: true });
compile();
nameCompiledFiles();
writeFileSync(join(output, "package.json"), `${JSON.stringify(publishedManifest(), undefined, 2)}\n`);
writeFileSync(join(output, "README.md"), withoutRepositoryLinks(readFileSync(join(folder, "README.md"), "utf8")));
copyFileSync(join(folder, "..", "LICENSE"), join(output, "LICENSE"));

function compile() {
  const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
  const { status, error } = spawnSync(process.execPath, [join(typescript, "bin/tsc"), "--project", folder], {
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) {
    throw error ?? new Error("tsc failed");
  }
}

/** tsc leaves the names of source files in the types, which not every tool resolves. */
function nameCompiledFiles() {
  for (const name of readdirSync(output, { recursive: true }).filter((name) => name.endsWith(".d.ts"))) {
    const file = join(output, name);
    writeFileSync(file, readFileSync(file, "utf8").replace(/(from "\..*)\.ts"/g, '$1.js"'));
  }
}

/** Replaces the links to files of the repository by their texts: the package has none of these files. */
function withoutRepositoryLinks(text) {
  return text.replace(/\[([^\]]+)\]\((?!https?:|#)[^)\s]+\)/g, "$1");
}

function publishedManifest() {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const { private: _private, scripts: _scripts, exports: sources, ...published } = manifest;
  return { ...published, ...entries(sources) };
}

/** From `./src/x.ts` to what is compiled of it. `main` and `types` are for tools that do not read `exports`. */
function entries(sources) {
  const built = Object.entries(sources).map(([entry, source]) => {
    const name = source.replace(/^\.\/src\/(.*)\.ts$/, "./$1");
    return [entry, { types: `${name}.d.ts`, default: `${name}.js` }];
  });
  const { default: main, types } = Object.fromEntries(built)["."];
  return { main, types, exports: { ...Object.fromEntries(built), "./package.json": "./package.json" } };
}
