import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { projectRoot } from "./project.ts";
import { table } from "./report.ts";

/** The packages that the contenders use. */
const packages = [
  "fastify",
  "@fastify/rate-limit",
  "@connectrpc/connect-node",
  "@bufbuild/protobuf",
  "@grpc/grpc-js",
  "@grpc/proto-loader",
  "better-sqlite3",
];

/** The machine and the versions that are measured, as Markdown. */
export function describeMachine(): string {
  const rows = [
    ["CPU", `${cpus()[0]?.model ?? "unknown"}, ${cpus().length} cores`],
    ["memory", `${(totalmem() / 2 ** 30).toFixed(1)} GiB`],
    ["load at the start", (loadavg()[0] ?? NaN).toFixed(2)],
    ["Node", process.version],
    ...packages.map((name) => [name, packageVersion(name)]),
    ["wrk", spawnSync("wrk", ["-v"], { encoding: "utf8" }).stdout.split(" ")[1] ?? ""],
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

function packageVersion(name: string): string {
  return JSON.parse(readFileSync(join(projectRoot, "node_modules", name, "package.json"), "utf8")).version;
}
