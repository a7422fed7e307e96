import { spawn, spawnSync } from "node:child_process";
import { mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { pets } from "../support/fixture.ts";
import { projectRoot } from "../support/petstore.ts";
import { serve, startServer, type TestServer } from "../support/server.ts";

const clients = readFileSync(join(projectRoot, "docs/clients.md"), "utf8");
const section = /^## Watching\n(.*?)^## /ms.exec(clients)?.[1] ?? "";
const programs = [...section.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language = "", code = ""]) => ({
  language,
  code,
}));

const folder = mkdtempDisposableSync(join(tmpdir(), "petstore-watcher-"));
let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startServer();
  key = (await server.store.mintKey()).key;
  symlinkSync(join(projectRoot, "node_modules"), join(folder.path, "node_modules"));
});

afterAll(async () => {
  folder.remove();
  await server?.stop();
});

/** How a program of a language is run from its file. */
const runs: Readonly<Record<string, (file: string) => [string, ...string[]]>> = {
  ts: (file) => [process.execPath, file],
  py: (file) => ["python3", file],
  go: (file) => {
    const { status, stderr } = spawnSync("go", ["build", "-o", `${file}.bin`, file], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    return [`${file}.bin`];
  },
  sh: (file) => ["sh", file],
};

/** The commands that this machine lacks, by language. */
const missing = Object.fromEntries(
  [
    ["py", "python3"],
    ["go", "go"],
  ].flatMap(([language, command = ""]) => (hasCommand(command) ? [] : [[language, command]])),
);

function hasCommand(command: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${command}`], { stdio: "ignore" }).status === 0;
}

if (Object.keys(missing).length > 0) {
  console.warn(`the programs in docs/clients.md that need ${Object.values(missing).join(", ")} are not run`);
}

/** Runs the page's program against this server, with what it prints. */
function start(language: string) {
  const { code = "" } = programs.find((program) => program.language === language) ?? {};
  const file = join(folder.path, `watch.${language === "ts" ? "mts" : language}`);
  writeFileSync(file, code.replaceAll("127.0.0.1:8080", new URL(server.origin).host));
  const [command, ...args] = runs[language]?.(file) ?? ["false"];
  const child = spawn(command, args, { cwd: folder.path, env: { ...process.env, PETSTORE_API_KEY: key } });
  const watcher = { printed: "", end: () => child.kill() };
  child.stdout.on("data", (text: Buffer) => {
    watcher.printed += text.toString();
  });
  return watcher;
}

async function set(quantity: bigint): Promise<void> {
  await server.call(rest, "updateInventory", { petId: 7n, update: { quantity } }, { key });
}

describe("the program in docs/clients.md that watches", () => {
  it.each(["ts", "py", "go"].filter((language) => missing[language] === undefined))(
    "tells every change once in %s, over a restart",
    { timeout: 120_000 },
    async (language) => {
      const { changes = [] } =
        (await server.call(rest, "listStockChanges", { pageSize: 1_000 }, { key })).message ?? {};
      const lines = changes.map(({ petId, before, after }) => `pet ${petId}: ${before ?? "new"} → ${after}\n`);
      const last = changes.findLast(({ petId }) => petId === 7n)?.after;
      const watcher = start(language);
      await until(async () => watcher.printed === lines.join(""), 20_000);
      await set(100n);
      const { port, store } = server;
      await server.end();
      server = await serve(store, { flags: ["--port", String(port)] });
      await set(101n);
      const expected = `${lines.join("")}pet 7: ${last} → 100\npet 7: 100 → 101\n`;
      await until(async () => watcher.printed.length >= expected.length, 20_000);
      watcher.end();
      expect(watcher.printed).toBe(expected);
    },
  );

  it("shows events by curl as they come", async () => {
    const watcher = start("sh");
    await until(async () => watcher.printed.split("event: stock-change").length > pets.length, 10_000);
    await set(5n);
    await until(async () => /"petId":7,.*"after":5,/.test(watcher.printed), 10_000);
    watcher.end();
  });
});
