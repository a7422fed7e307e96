import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { importFixture } from "../support/fixture.ts";
import { createFolder } from "../support/folder.ts";
import { petstore, projectRoot } from "../support/petstore.ts";
import { createDatabase, runSql } from "../support/postgres/databases.ts";
import { postgresPrograms } from "../support/postgres/programs.ts";

const operations = readFileSync(join(projectRoot, "docs/operations.md"), "utf8");
const section = /^### Backups of PostgreSQL\n(.*?)^### /ms.exec(operations)?.[1] ?? "";
const blocks = [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);

it.skipIf(postgresPrograms === undefined)(
  "a dump is restored as docs/operations.md says",
  async () => {
    expect(blocks).toHaveLength(2);
    const [from, to] = [await createDatabase(), await createDatabase()];
    onTestFinished(() => from.remove());
    onTestFinished(() => to.remove());
    await importFixture(from.url);
    const PATH = `${postgresPrograms}:${join(projectRoot, "bin")}:${process.env.PATH}`;
    const env = { ...process.env, PATH, PETSTORE_DATABASE: from.url, RESTORED: to.url };
    const run = (commands: string) => promisify(execFile)("sh", ["-ec", commands], { cwd: createdIn, env });
    const createdIn = createFolder();
    for (const block of blocks) {
      await run(block);
    }
    const lineageOf = async (url: string) => (await runSql(url, "SELECT lineage, revision FROM head"))[0]?.rows[0];
    const [old, restored] = [await lineageOf(from.url), await lineageOf(to.url)];
    expect(restored.revision).toEqual(old.revision);
    expect(restored.lineage).not.toBe(old.lineage);
    const pets = async (url: string) => (await petstore(["export", "--database", url])).stdout;
    expect(await pets(to.url)).toBe(await pets(from.url));
  },
  120_000,
);
