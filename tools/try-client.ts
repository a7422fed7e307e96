/**
 * Installs the packed client in empty projects, with several versions of npm, and uses it with several versions of Node
 * and TypeScript, against a server of its own. Each trial is a line; the exit code is 1 when one fails. It loads all
 * these versions from npm's registry, and takes some minutes.
 *
 *     bin/node tools/try-client.ts
 */
import { mkdirSync, mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../test/support/server.ts";
import { EmptyProject, packClient } from "./try-client/empty-project.ts";
import { installVersions, loadRuntimes, type NamedRuntime } from "./try-client/runtimes.ts";
import { checkTypes, moduleSettings } from "./try-client/types.ts";

const nodeVersions = ["20.20.2", "22.23.3", "24.21.0", "26.10.0"];
const npmVersions = ["9.9.4", "10.9.9", "11.0.0", "11.6.0", "11.6.2", "11.21.2", "12.2.0"];
const typescriptVersions = ["5.0.4", "5.1.6", "5.2.2", "5.4.5", "5.6.3", "5.7.3", "5.8.3", "5.9.3", "6.0.3", "7.0.2"];

/** The most that the client and its dependencies may take on disk, in bytes. */
const maxBytes = 10_000_000;

const example = "examples/connect.ts";

using scratch = mkdtempDisposableSync(join(tmpdir(), "petstore-try-client-"));
const projects = join(scratch.path, "projects");
mkdirSync(projects);
const file = await packClient(scratch.path);
const runtimes = loadRuntimes(scratch.path, nodeVersions, npmVersions);
const server = await startServer();
try {
  const { key } = await server.store.mintKey();
  const variables = { PETSTORE_API_KEY: key, BASE_URL: `${server.origin}/v1` };
  for (const [index, runtime] of runtimes.entries()) {
    await trial(runtime.name, () => useClient(join(projects, `project-${index}`), runtime, variables));
  }
  await tryTypes();
} finally {
  await server.stop();
}

/** Installs the client in an empty project, and runs the example there. Returns the size. */
async function useClient(folder: string, runtime: NamedRuntime, variables: Record<string, string>): Promise<string> {
  const project = new EmptyProject(folder, runtime);
  const { packages, apparentBytes, diskBytes, commands } = await project.install(file);
  if (Math.max(apparentBytes, diskBytes) > maxBytes || commands.length > 0) {
    throw new Error(`it brings ${megabytes(diskBytes)} MB and the commands ${commands.join()}`);
  }
  // Node 20 does not run TypeScript.
  const names = runtime.nodeMajor < 22 ? ["pets.mjs"] : ["pets.mjs", "pets.mts"];
  for (const name of names) {
    project.copy(example, name);
    const printed = await project.run([name], variables);
    if (!printed.includes("pet 7 now has 5\n")) {
      throw new Error(`${name} prints ${printed}`);
    }
  }
  return `${packages} packages, ${megabytes(apparentBytes)} MB, ${megabytes(diskBytes)} MB on disk; ${names.join(", ")}`;
}

async function tryTypes(): Promise<void> {
  const folders = installVersions(join(scratch.path, "typescript"), "typescript", typescriptVersions);
  const project = new EmptyProject(join(projects, "types"), { node: process.execPath, npm: ["npm"] });
  await project.install(file);
  for (const [version, folder] of folders) {
    for (const module of moduleSettings) {
      await trial(`TypeScript ${version}, ${module.join(" ")}`, async () => {
        await checkTypes(project, folder, module);
        return "accepted";
      });
    }
  }
}

async function trial(name: string, run: () => Promise<string>): Promise<void> {
  try {
    console.log(`${name}: ${await run()}`);
  } catch (error) {
    const { message, stdout = "" } = error as Error & { stdout?: string };
    console.log(`${name}: FAILED: ${message}${stdout}`);
    process.exitCode = 1;
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
