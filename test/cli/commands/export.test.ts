import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { createFolder } from "../../support/folder.ts";
import { petstore } from "../../support/petstore.ts";

it("ends silently when its reader closes the pipe", async () => {
  const cwd = createFolder();
  const rows = Array.from({ length: 20_000 }, (_, index) => `${index},A pet with a name,dog,,,available,1\n`);
  writeFileSync(join(cwd, "pets.csv"), `id,name,category,photoUrls,tags,status,quantity\n${rows.join("")}`);
  await petstore(["import", "pets.csv"], { cwd });
  const main = join(import.meta.dirname, "../../../src/main.ts");
  const script = `set -o pipefail; "${process.execPath}" "${main}" export | head -1`;
  const { stdout, stderr } = await promisify(execFile)("bash", ["-c", script], { cwd });
  expect({ stdout, stderr }).toEqual({ stdout: "id,name,category,photoUrls,tags,status,quantity\r\n", stderr: "" });
});
