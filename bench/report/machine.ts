import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { postgresPrograms } from "../../test/support/postgres/programs.ts";
import { isInstalled } from "../prerequisites.ts";
import { projectRoot } from "../project.ts";
import { table } from "./markdown-table.ts";

/** The packages that the contenders use. */
const packages = [
  "fastify",
  "@fastify/rate-limit",
  "@connectrpc/connect-node",
  "@bufbuild/protobuf",
  "@grpc/grpc-js",
  "@grpc/proto-loader",
  "better-sqlite3",
  "pg",
];

const goModules = [
  "github.com/mattn/go-sqlite3",
  "google.golang.org/grpc",
  "connectrpc.com/connect",
  "connectrpc.com/vanguard",
];
const crates = ["axum", "tokio", "rusqlite"];

/** The machine and the versions that are measured, as Markdown. */
export function describeMachine(): string {
  const rows = [
    ["CPU", `${cpus()[0]?.model ?? "unknown"}, ${cpus().length} cores`],
    ["memory", `${(totalmem() / 2 ** 30).toFixed(1)} GiB`],
    ["load at the start", (loadavg()[0] ?? NaN).toFixed(2)],
    ["Node", process.version],
    ...packages.map((name) => [name, packageVersion(name)]),
    ["wrk", versionOf("wrk", "-v")],
    ...(postgresPrograms === undefined ? [] : [["PostgreSQL", versionOf(join(postgresPrograms, "postgres"), "-V")]]),
    ...(isInstalled("redis-server") ? [["Redis", versionOf("redis-server", "-v")]] : []),
    ...(isInstalled("go") ? [["Go", versionOf("go", "env", "GOVERSION")], ...pinned("go/go.mod", goModules)] : []),
    ...(isInstalled("cargo") ? [["Rust", versionOf("cargo", "--version")], ...pinned("rust/Cargo.toml", crates)] : []),
  ];
  return table(["", "measured with"], rows);
}

/** A warning if the machine is busy with something else. */
export function warnOfNoise(): string | undefined {
  const load = loadavg()[0] ?? 0;
  return load > cpus().length / 2
    ? `The machine was busy at the start (load ${load.toFixed(2)}): trust the ratios, not the figures.`
    : undefined;
}

/** The version in what a program prints. */
function versionOf(program: string, ...args: readonly string[]): string {
  return /\S*\d\.\S+/.exec(spawnSync(program, args, { encoding: "utf8" }).stdout)?.[0] ?? "";
}

/** The versions of packages in the file that pins them. */
function pinned(file: string, names: readonly string[]): string[][] {
  const lines = readFileSync(join(projectRoot, "bench/contenders", file), "utf8").split("\n");
  return names.map((name) => {
    const line = lines.find((each) => each.trim().startsWith(`${name} `)) ?? "";
    return [name, /\d+\.\d+\.\d+/.exec(line)?.[0] ?? ""];
  });
}

function packageVersion(name: string): string {
  return JSON.parse(readFileSync(join(projectRoot, "node_modules", name, "package.json"), "utf8")).version;
}
