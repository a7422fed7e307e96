import { join } from "node:path";
import type { EmptyProject } from "./empty-project.ts";

/** How a project has TypeScript find its packages. */
export const moduleSettings: readonly (readonly string[])[] = [
  ["--module", "nodenext"],
  ["--module", "node16"],
  ["--module", "esnext", "--moduleResolution", "bundler"],
];

const strictness = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];

/** All that the samples take of Node's types. */
const nodeTypes = "declare const process: { readonly env: Record<string, string | undefined> };\n";

/**
 * Has a TypeScript, by the folder of its package, check a file of the project, and all types that it leads to: there is
 * no `skipLibCheck`. Rejects with what TypeScript says in `stdout` when a type is wrong.
 */
export async function checkTypes(
  project: EmptyProject,
  typescript: string,
  { file, module }: { file: string; module: readonly string[] },
): Promise<void> {
  project.write("node.d.ts", nodeTypes);
  const target = ["--target", "es2022", "--lib", "es2022,dom"];
  const program = join(typescript, "bin/tsc");
  await project.run([
    program,
    "--noEmit",
    ...strictness,
    ...target,
    "--typeRoots",
    "none",
    ...module,
    "node.d.ts",
    file,
  ]);
}
