import { spawnSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder } from "./folder.ts";
import { projectRoot } from "./petstore.ts";

/** An object of Kubernetes, as far as all have the same fields. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** Where Kubernetes's own types have those of a version: `apps/v1` and `v1` are `apps/v1` and `core/v1`. */
function moduleOf(apiVersion: string): string {
  const [group = "", version] = apiVersion.includes("/") ? apiVersion.split("/") : ["core", apiVersion];
  return `kubernetes-types/${group.replace(/\.k8s\.io$/, "")}/${version}`;
}

/**
 * What Kubernetes 1.30 would refuse of each manifest: unknown, missing and mistyped fields. TypeScript compares each, as a
 * literal, with the types that are made of Kubernetes's OpenAPI.
 */
export function faultsOf(manifests: readonly Manifest[]): readonly (readonly string[])[] {
  const folder = createFolder();
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  const files = manifests.map((manifest, index) => {
    const { apiVersion, kind } = manifest;
    const file = `manifest-${index}.ts`;
    const type = `import type { ${kind} } from ${JSON.stringify(moduleOf(apiVersion))};`;
    writeFileSync(
      join(folder, file),
      `${type}\nexport const manifest: ${kind} = ${JSON.stringify(manifest, null, 1)};\n`,
    );
    return file;
  });
  const compiler = join(projectRoot, "node_modules/typescript/bin/tsc");
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--types", "", "--pretty", "false"];
  const { stdout } = spawnSync(process.execPath, [compiler, ...flags, ...files], { cwd: folder, encoding: "utf8" });
  const lines = stdout.split("\n").filter((line) => line !== "");
  const [told, others] = [
    lines.filter((line) => line.startsWith("manifest-")),
    lines.filter((line) => line.startsWith("error")),
  ];
  if (others.length > 0) {
    throw new Error(others.join("\n"));
  }
  return files.map((file) => told.filter((line) => line.startsWith(`${file}(`)));
}
