import { join } from "node:path";
import type { EmptyProject } from "./empty-project.ts";

/** How a project lets TypeScript resolve packages. */
export const moduleSettings: readonly (readonly string[])[] = [
  ["--module", "nodenext"],
  ["--module", "node16"],
  ["--module", "esnext", "--moduleResolution", "bundler"],
];

const strictness = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
const settings = ["--noEmit", ...strictness, "--target", "es2022", "--lib", "es2022,dom", "--typeRoots", "none"];

/** What the samples need of Node's types. */
const nodeTypes = "declare const process: { readonly env: Record<string, string | undefined> };\n";

/** A program that passes lists which it must not change. */
const readOnlyLists = `import { createPetstoreClient, type InventoryChange, PetStatus } from "petstore-inventory-client";

const petstore = createPetstoreClient({ baseUrl: "https://petstore.example/v1", apiKey: "psk_x" });
const petId: readonly bigint[] = [7n, 8n];
const changes: readonly InventoryChange[] = petId.map((petId) => ({ petId, quantity: 5n }));
petstore.listInventory({ status: [PetStatus.PENDING, PetStatus.SOLD] as const });
petstore.watchStockChanges({ petId });
await petstore.inventory.batchUpdateInventory({ changes });
`;

/** A program with a type error, which TypeScript misses only if it does not find the client's types. */
const wrong =
  'import { createPetstoreClient } from "petstore-inventory-client";\ncreatePetstoreClient({ baseUrl: 7 });\n';

/**
 * Checks examples in a project, and all types that it reaches, with the TypeScript in this folder and without
 * `skipLibCheck`. Throws an `Error` with TypeScript's output if it refuses an example or accepts a wrong program.
 */
export async function checkTypes(project: EmptyProject, typescript: string, module: readonly string[]): Promise<void> {
  project.write("node.d.ts", nodeTypes);
  project.copy("examples/connect.ts", "connect.mts");
  project.copy("examples/mirror.ts", "mirror.mts");
  project.write("lists.mts", readOnlyLists);
  project.write("wrong.mts", wrong);
  const check = (...files: string[]) =>
    errorsIn(project, [join(typescript, "bin/tsc"), ...settings, ...module, "node.d.ts", ...files]);
  const errors = await check("connect.mts", "mirror.mts", "lists.mts");
  if (errors !== "") {
    throw new Error(errors);
  }
  if (!(await check("wrong.mts")).startsWith("wrong.mts(2,")) {
    throw new Error("the types let a wrong program pass");
  }
}

/** TypeScript's output for errors. */
async function errorsIn(project: EmptyProject, command: readonly string[]): Promise<string> {
  return project.run(command).catch(({ stdout }: { stdout: string }) => stdout);
}
