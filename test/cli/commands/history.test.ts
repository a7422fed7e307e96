import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFolder } from "../../support/folder.ts";
import { petstore, startPetstore } from "../../support/petstore.ts";

const header = "id,name,category,photoUrls,tags,status,quantity\n";

/** A folder with a store of three pets, whose import is its history. */
async function createStore(): Promise<string> {
  const cwd = createFolder();
  const rows = [1, 2, 3].map((id) => `${id},Pet ${id},dog,,,available,${id * 10}\n`);
  await importPets(cwd, `${header}${rows.join("")}`);
  return cwd;
}

async function importPets(cwd: string, csv: string): Promise<void> {
  writeFileSync(join(cwd, "pets.csv"), csv);
  const { code, stderr } = await petstore(["import", "pets.csv"], { cwd });
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`;

describe("petstore history", () => {
  it("shows each change, the newest last", async () => {
    const cwd = await createStore();
    await importPets(cwd, "id,quantity\n2,5\n");
    const { code, stdout, stderr } = await petstore(["history"], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(/^WHEN +PET +BEFORE +AFTER +KIND +WHO +WHY$/),
      expect.stringMatching(`^${time}  1    -       10     import  a command  -$`),
      expect.stringMatching(`^${time}  2    -       20     import  a command  -$`),
      expect.stringMatching(`^${time}  3    -       30     import  a command  -$`),
      expect.stringMatching(`^${time}  2    20      5      import  a command  -$`),
      "",
    ]);
  });

  it("prints JSON Lines of the pets and the number asked for", async () => {
    const cwd = await createStore();
    await importPets(cwd, "id,quantity\n2,5\n3,6\n1,7\n");
    const { stdout } = await petstore(["history", "--pet", "2", "--pet", "3", "--last", "3", "--json"], { cwd });
    const changes = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(changes.map(({ revision, petId, before, after }) => [revision, petId, before, after])).toEqual([
      [3, 3, undefined, 30],
      [5, 2, 20, 5],
      [6, 3, 30, 6],
    ]);
  });

  it("follows what comes", async () => {
    const cwd = await createStore();
    const following = startPetstore(["history", "--follow", "--json", "--last", "0"], { cwd });
    onTestFinished(async () => void (await following.end("SIGKILL")));
    // The first change may come before the command has begun: then it shows none of it, and the second one.
    const line = following.nextLine();
    let seen = false;
    void line.then(() => {
      seen = true;
    });
    for (let quantity = 1; !seen; quantity++) {
      await importPets(cwd, `id,quantity\n2,${quantity}\n`);
    }
    expect(JSON.parse((await line) ?? "")).toMatchObject({ petId: 2, kind: "import" });
    expect(await following.end("SIGINT")).toBe("SIGINT");
  });

  it.each([
    ["--pet", "x", "the id of a pet, such as 7"],
    ["--pet", "9223372036854775808", "the id of a pet, such as 7"],
    ["--last", "-1", "a whole number, such as 100"],
  ])("refuses %s %s", async (flag, value, expected) => {
    const { code, stdout, stderr } = await petstore(["history", flag, value], { cwd: createFolder() });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^petstore: option '${flag}.*It must be ${expected}\\.\n$`));
  });

  it("refuses an unknown pet, and a missing store", async () => {
    const cwd = await createStore();
    expect(await petstore(["history", "--pet", "404"], { cwd })).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^petstore: There is no pet 404\..*\n$/),
    });
    expect(await petstore(["history"], { cwd: createFolder() })).toMatchObject({ code: 1, stdout: "" });
  });
});
