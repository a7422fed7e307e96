import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openRecordFile } from "../../src/cli/record-file.ts";
import { petRecord } from "../../src/records/record-format.ts";
import { createFolder } from "../support/folder.ts";

it.skipIf(process.platform === "win32")("follows a signal in each reading of bytes that come only once", async () => {
  const folder = createFolder();
  const [pets, pipe] = [join(folder, "pets.csv"), join(folder, "pipe.csv")];
  const rows = Array.from({ length: 50_000 }, (_, id) => `${id},Rex,dog,,,available,1\n`);
  writeFileSync(pets, `id,name,category,photoUrls,tags,status,quantity\n${rows.join("")}`);
  execFileSync("mkfifo", [pipe]);
  spawn("cp", [pets, pipe]);
  const file = openRecordFile(pipe, petRecord, undefined);
  await Array.fromAsync(file.read("checking", new AbortController().signal));

  const interruption = new AbortController();
  let count = 0;
  const reading = (async () => {
    for await (const _record of file.read("importing", interruption.signal)) {
      count++;
      interruption.abort();
    }
  })();

  await expect(reading).rejects.toMatchObject({ name: "AbortError" });
  expect(count).toBeLessThan(rows.length / 2);
});
