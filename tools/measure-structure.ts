/**
 * Measures the structure of the source: its files, its functions, and the way of one warm REST `PATCH`.
 *
 *     bin/node tools/measure-structure.ts [--list] [CHECKOUT]
 *
 * With `--list` it also lists the small files, and the functions in the order in which a `PATCH` enters them.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { traceUpdate } from "./structure/request-trace.ts";
import { readSources } from "./structure/sources.ts";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: "boolean", default: false } },
});
const root = resolve(positionals[0] ?? join(import.meta.dirname, ".."));
const sources = readSources(join(root, "src"));
const small = sources.filter(({ lines }) => lines < 20);
const fragments = sources.filter(({ lines, importers }) => lines < 40 && importers === 1);
const [longest] = sources.flatMap((source) => source.functions).sort((one, other) => other.lines - one.lines);
const folders = Object.entries(Object.groupBy(sources, ({ folder }) => folder));
const full = folders.filter(([, files = []]) => files.length > 25);
const update = await traceUpdate(root);

const rows: (readonly [string, string, string])[] = [
  ["files that run for a warm PATCH, serving thread", `${update.files}`, "50"],
  ["functions that run for it", `${update.functions}`, "150"],
  ["returns to a file already left", `${update.returns}`, "20"],
  ["TypeScript files in src", `${sources.length}`, "240"],
  ["files under 20 lines", percentage(small.length, sources.length), "8 %"],
  ["files under 40 lines with one importer", `${fragments.length}`, "20"],
  ["longest function, in lines", `${longest?.lines} (${longest?.name})`, "60"],
  [
    "folders with more than 25 files",
    full.map(([folder, files]) => `${folder} ${files?.length}`).join(", ") || "0",
    "0",
  ],
];
for (const [what, value, aim] of rows) {
  console.log(`${what.padEnd(50)} ${value.padEnd(24)} aim: at most ${aim}`);
}
if (flags.list) {
  console.log("\nunder 20 lines:", small.map(({ path }) => path).join(" "));
  console.log("\nunder 40 lines with one importer:", fragments.map(({ path }) => path).join(" "));
  console.log("\nthe way of a PATCH, a line for each time that it enters a file:");
  for (const { file, names } of update.way) {
    console.log(`  ${file}: ${names.join(" ")}`);
  }
}

function percentage(part: number, whole: number): string {
  return `${part} (${((100 * part) / whole).toFixed(1)} %)`;
}
