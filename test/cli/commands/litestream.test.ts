import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../support/deadline.ts";
import { isInstalled } from "../../support/installed.ts";
import { petstore, projectRoot } from "../../support/petstore.ts";
import { startServer } from "../../support/server.ts";

/** The program that `LITESTREAM` names, or that is in PATH. */
const litestream = process.env.LITESTREAM ?? "litestream";

const isThere = isInstalled(litestream);

/** The configuration in docs/operations.md, with the paths of this test. */
function writeConfig(directory: string, db: string): string {
  const operations = readFileSync(join(projectRoot, "docs/operations.md"), "utf8");
  const [, example = ""] = /```yaml\n# litestream\.yml\n(.*?)```/s.exec(operations) ?? [];
  const config = join(directory, "litestream.yml");
  writeFileSync(
    config,
    example.replace("/var/lib/petstore/petstore.db", db).replace("/var/backups/petstore", join(directory, "replica")),
  );
  return config;
}

function exportOf(db: string): Promise<string> {
  return petstore(["export", "--db", db]).then(({ stdout }) => stdout);
}

it.skipIf(!isThere)("has all updates in the replica of Litestream, even when the server is killed", async () => {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const { db, directory } = server.store;
  const config = writeConfig(directory, db);
  const replication = spawn(litestream, ["replicate", "-config", config], { stdio: "ignore" });
  onTestFinished(() => void replication.kill("SIGKILL"));
  const { key } = await server.store.mintKey();
  for (let quantity = 1; quantity <= 200; quantity += 1) {
    const answer = await fetch(`${server.origin}/v1/inventory/7`, {
      method: "PATCH",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ quantity }),
    });
    expect(answer.status).toBe(200);
  }
  await server.end("SIGKILL");

  const restored = join(directory, "restored.db");
  const restore = (copy: string) => spawnSync(litestream, ["restore", "-config", config, "-o", copy, db]).status === 0;
  const expected = await exportOf(db);
  let round = 0;
  await until(async () => {
    round += 1;
    const copy = `${restored}.${round}`;
    return restore(copy) && (await exportOf(copy)) === expected;
  }, 15_000);
  replication.kill("SIGTERM");
  await once(replication, "close");
  expect(restore(restored)).toBe(true);
  expect((await petstore(["check", "--db", restored])).stdout).toBe(`${restored} is sound\n`);
  expect((await petstore(["restore", restored, "--db", db])).code).toBe(0);
  expect(await exportOf(db)).toBe(expected);
});
