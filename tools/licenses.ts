import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The licences of the npm packages that modules come from, one after the other, as each licence requires. */
export function licensesOf(modules: readonly string[]): string {
  const folders = new Set(modules.map(packageFolder).filter((folder) => folder !== undefined));
  return [...folders].sort().map(describe).join("\n");
}

/** The folder of the package that a module belongs to: the innermost one, if packages are nested. */
function packageFolder(module: string): string | undefined {
  return /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
}

function describe(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /^(licen[cs]e|notice|copying)/i.test(entry.name))
    .map(({ name: file }) => readFileSync(join(folder, file), "utf8").trim());
  return [`## ${name} ${version}, ${license}`, ...texts].join("\n\n").concat("\n");
}
