/**
 * Writes `dist/`, which the npm package has in place of `src/`, `gen/` and the dependencies: a bundle with a chunk for
 * each command, and beside it the files that the source reads. A checkout has no use for it.
 *
 *     node tools/build.ts
 */
import { cpSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "rolldown";

const root = join(import.meta.dirname, "..");
const output = join(root, "dist");

rmSync(output, { recursive: true, force: true });
await build({
  cwd: root,
  input: {
    petstore: "src/main.ts",
    "src/storage/sqlite/writer-thread": "src/storage/sqlite/writer-thread.ts",
  },
  platform: "node",
  // It finds its binary beside its own files.
  external: ["better-sqlite3"],
  plugins: [ownPlaces()],
  output: { dir: output, entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js", comments: { legal: true } },
});
for (const folder of ["gen", "src"]) {
  cpSync(join(root, folder), join(output, folder), {
    recursive: true,
    filter: (path) => statSync(path).isDirectory() || !path.endsWith(".ts"),
  });
}
cpSync(join(root, "CHANGELOG.md"), join(output, "CHANGELOG.md"));

/** A module finds its files where it stood before it was bundled: `dist/` has them below the same folders. */
function ownPlaces(): Plugin {
  return {
    name: "own-places",
    transform(code, id) {
      const path = relative(root, id);
      if (!path.startsWith("src") || !code.includes("import.meta.")) {
        return null;
      }
      const folder = JSON.stringify(`/${dirname(path)}`);
      const file = JSON.stringify(path.replace(/\.ts$/, ".js"));
      return code
        .replaceAll("import.meta.dirname", `(import.meta.dirname + ${folder})`)
        .replaceAll("import.meta.url", `new URL(${file}, import.meta.url).href`);
    },
  };
}
