import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createFolder, folderOf } from "../support/folder.ts";
import { isInstalled } from "../support/installed.ts";
import { petstore, projectRoot } from "../support/petstore.ts";
import { petstoreHere } from "../support/petstore-here.ts";

const header = "id,name,category,photoUrls,tags,status,quantity\n";

/** Rows of pets, more than a read of a file returns. */
const rows = Array.from({ length: 5_000 }, (_, id) => `${id},Rex,dog,,,available,1\n`).join("");

/** Runs `petstore …` in a shell on a terminal. Returns what the terminal is sent. */
async function onTerminal(args: string, cwd: string): Promise<string> {
  const command = `"${process.execPath}" "${join(projectRoot, "src/main.ts")}" ${args}`;
  const script = promisify(execFile)("script", ["-qefc", command, "/dev/null"], {
    cwd,
    env: { ...process.env, TERM: "xterm" },
  });
  return (await script.catch((error: { stdout: string }) => error)).stdout;
}

/** Creates a folder with a store, and a backup of it. */
const createStore = folderOf(async (cwd) => {
  await petstoreHere(["import", "-", "--format", "csv"], { cwd, input: `${header}${rows}` });
  await petstore(["backup", "backup.db"], { cwd });
});

describe.skipIf(!isInstalled("script"))("the progress bar on a terminal (skipped without script)", () => {
  it.for<[what: string, file: string, content: string, message: string]>([
    ["a wrong quote", "pets.csv", `${header}7,"Rex"x,,,,sold,1\n`, "2: a closing quote must be"],
    ["a wrong cell", "pets.csv", `${header}${rows}5000,Rex,,,,lost,1\n${rows}`, "5002: status: must be"],
    ["a wrong line", "pets.jsonl", "\n[]\n", "2: must be an object"],
    ["a wrong element", "pets.json", "[\n[]]\n", "2: must be an object"],
  ])("is gone before the message: %s of %s", async ([, file, content, message]) => {
    const cwd = createFolder();
    writeFileSync(join(cwd, file), content);
    const [bar, rest] = (await onTerminal(`import ${file}`, cwd)).split("petstore: ");
    expect(bar).toContain("checking [");
    expect(rest).toMatch(new RegExp(`^${file}:${message}[^\x1b]*$`));
  });

  it.for([
    "backup copy.db",
    "restore backup.db",
    "check",
    "export > pets.csv",
    "copy --from sqlite:backup.db --to sqlite:copy.db",
  ])("is shown, and leaves the wrapping of lines alone: petstore %s", async (args) => {
    const sent = await onTerminal(args, await createStore());
    expect(sent).toMatch(/(backing up|restoring|checking|exporting|copying) \[[#.]+\] \d+ %/);
    expect(sent).not.toContain("\x1b[?7");
  });

  it("is not drawn over what a program prints that reads an export", async () => {
    const cwd = await createStore();
    const lines = (await onTerminal("export --format jsonl | tail -n 1", cwd)).split("\r\n");
    expect(lines).toEqual([expect.stringMatching(/^\{"id":4999,.*\}$/), ""]);
  });
});
