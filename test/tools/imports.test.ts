import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";
import { createFolder } from "../support/folder.ts";
import { hasTools } from "../support/installed.ts";
import { projectRoot } from "../support/petstore.ts";

const biome = join(projectRoot, "tools/node_modules/.bin/biome");

/** The other folders of `src` that each one may import. `server/` wires all but two. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  cli: ["domain", "exact-json", "records", "webhooks"],
  domain: [],
  "exact-json": [],
  gateway: ["exact-json", "http", "proto-json", "rpc"],
  http: ["scheduling"],
  interceptors: ["domain", "http", "rpc"],
  observability: ["domain", "http", "interceptors", "rpc", "scheduling", "services"],
  "proto-json": ["exact-json"],
  "rate-limit": ["domain"],
  records: ["domain", "exact-json"],
  reference: ["domain", "gateway", "http", "interceptors"],
  rpc: ["exact-json", "http", "proto-json", "scheduling"],
  scheduling: [],
  server: [
    "domain",
    "exact-json",
    "gateway",
    "http",
    "interceptors",
    "observability",
    "proto-json",
    "rate-limit",
    "reference",
    "rpc",
    "scheduling",
    "services",
    "storage",
    "webhooks",
  ],
  services: ["domain", "rpc"],
  storage: ["domain"],
  "storage/postgres": ["domain", "scheduling", "storage"],
  "storage/sqlite": ["domain", "scheduling", "storage"],
  webhooks: ["domain", "scheduling"],
};
const folders = Object.keys(mayImport);

/** The imports that the linter refuses, as `FILE: SPECIFIER`, in a project of these files with one import per line. */
function refusedImports(files: Readonly<Record<string, readonly string[]>>): string[] {
  const root = createFolder();
  copyFileSync(join(projectRoot, "biome.imports.json"), join(root, "biome.imports.json"));
  writeFileSync(
    join(root, "biome.json"),
    '{"extends": ["./biome.imports.json"], "linter": {"rules": {"preset": "none"}}}',
  );
  for (const [file, specifiers] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), specifiers.map((specifier) => `import "${specifier}";\n`).join(""));
  }
  const { stdout } = spawnSync(biome, ["lint", "--reporter=json", "--max-diagnostics=none"], {
    cwd: root,
    encoding: "utf8",
  });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
  return diagnostics.map(({ location: { path, start } }) => `${path}: ${files[path]?.[start.line - 1]}`);
}

interface Diagnostic {
  readonly location: { readonly path: string; readonly start: { readonly line: number } };
}

function specifierOf(from: string, to: string): string {
  const path = relative(from, to);
  return `${path.startsWith(".") ? path : `./${path}`}/other.ts`;
}

it("knows every folder of src", () => {
  const present = readdirSync(join(projectRoot, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.filter((folder) => !folder.includes("/"))).toEqual(present.map(({ name }) => name).sort());
});

it.skipIf(!hasTools)("refuses each import that the table does not allow (skipped without npm run tools)", () => {
  const others = (folder: string) => folders.filter((other) => other !== folder);
  const files = folders.map((folder) => {
    const specifiers = others(folder).map((other) => specifierOf(folder, other));
    return [`src/${folder}/probe.ts`, specifiers] as const;
  });
  const expected = folders.flatMap((folder) =>
    others(folder)
      .filter((other) => mayImport[folder]?.includes(other) === false)
      .map((other) => `src/${folder}/probe.ts: ${specifierOf(folder, other)}`),
  );
  expect(refusedImports(Object.fromEntries(files)).sort()).toEqual(expected.sort());
});

const probes: [file: string, allowed: string[], refused: string[]][] = [
  ["src/main.ts", ["./cli/program.ts"], ["./server/server.ts"]],
  ["src/domain/probe.ts", ["./key.ts", "node:crypto"], ["node:fs", "pino", "../../gen/petstore/v1/pet_pb.ts"]],
  [
    "src/http/http2/probe.ts",
    ["../body.ts", "node:net"],
    ["../../rpc/endpoint.ts", "../../domain/key.ts", "node:http2"],
  ],
  ["src/gateway/routes/probe.ts", ["../url.ts", "../../rpc/endpoint.ts"], ["../../services/catalog.ts"]],
  ["src/services/probe.ts", ["../../gen/petstore/v1/pet_pb.ts"], ["better-sqlite3", "../storage/sqlite/store.ts"]],
  ["src/observability/probe.ts", ["prom-client"], ["../storage/sqlite/files/space.ts", "better-sqlite3"]],
  ["src/storage/postgres/writer/probe.ts", ["../../../domain/key.ts", "pg"], ["../../sqlite/store.ts"]],
  ["src/storage/sqlite/maintenance/probe.ts", ["../../copy.ts", "../store-file.ts"], ["../../postgres/store.ts"]],
  [
    "src/storage/sqlite/writer/probe.ts",
    ["../../../domain/key.ts", "better-sqlite3"],
    ["../../../services/catalog.ts"],
  ],
  [
    "src/server/probe.ts",
    ["../storage/key-cache.ts"],
    ["../storage/sqlite/store.ts", "../storage/copy.ts", "../cli/failure.ts"],
  ],
  ["src/server/backend.ts", ["../storage/sqlite/store.ts"], ["../cli/store.ts"]],
  ["src/cli/store.ts", ["../storage/sqlite/store.ts", "../storage/copy.ts"], ["../server/server.ts"]],
  ["src/cli/ops-client.ts", ["node:http", "../domain/server-status.ts"], ["../storage/sqlite/store.ts"]],
  [
    "src/cli/commands/probe.ts",
    ["../print/table.ts", "../../server/server.ts"],
    ["../../storage/sqlite/store.ts", "../../server/api.ts", "node:http"],
  ],
  ["src/reference/chapters/probe.ts", ["../elements.ts"], ["../../server/api.ts", "../../storage/key-cache.ts"]],
  ["src/reference/assets/key/probe.js", ["../html.js"], ["../../asset.ts", "node:fs", "pino"]],
  ["client/src/watch/probe.ts", ["../timing.ts"], ["../../../src/domain/key.ts"]],
  ["client/src/probe.ts", ["./gen/api.ts", "@bufbuild/protobuf"], ["node:fs", "../../src/domain/key.ts"]],
];

it.skipIf(!hasTools)("knows which file may do what the others of its folder may not", () => {
  const files = probes.map(([file, allowed, refused]) => [file, [...allowed, ...refused]] as const);
  const expected = probes.flatMap(([file, , refused]) => refused.map((specifier) => `${file}: ${specifier}`));
  expect(refusedImports(Object.fromEntries(files)).sort()).toEqual(expected.sort());
});

/** The folders that may import each driver, with those below them. */
const drivers: Readonly<Record<string, string>> = {
  "better-sqlite3": "storage/sqlite",
  ioredis: "rate-limit/redis",
  pg: "storage/postgres",
  "pg-copy-streams": "storage/postgres",
};

it.skipIf(!hasTools)("keeps each driver to its folder", () => {
  const files = [...folders, "rate-limit/redis"].map((folder) => `src/${folder}/probe.ts`);
  const all = [...files, "src/server/backend.ts", "src/cli/store.ts", "src/cli/ops-client.ts", "src/main.ts"];
  const expected = all.flatMap((file) =>
    Object.entries(drivers).flatMap(([driver, folder]) =>
      file.startsWith(`src/${folder}/`) ? [] : `${file}: ${driver}`,
    ),
  );
  const refused = refusedImports(Object.fromEntries(all.map((file) => [file, Object.keys(drivers)])));
  expect(refused.sort()).toEqual(expected.sort());
});

it.skipIf(!hasTools)("refuses no import of the source", () => {
  const { status, stdout, stderr } = spawnSync(
    biome,
    ["lint", "--only=style/noRestrictedImports", "src", "client/src"],
    {
      cwd: projectRoot,
      encoding: "utf8",
    },
  );
  expect({ status, output: stdout + stderr }).toEqual({
    status: 0,
    output: expect.stringMatching(/^Checked \d+ files/),
  });
});
