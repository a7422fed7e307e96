import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFolder } from "../support/folder.ts";
import { petstore } from "../support/petstore.ts";

const petColumns = "id,name,category,photoUrls,tags,status,quantity\r\n";
const orderColumns = "id,petId,quantity,shipDate,status,complete\r\n";
const pets = `${petColumns}7,Rex,dog,,a;b,available,3\r\n9,"A ""B"", c",,http://a.example/1,,sold,-1\r\n`;
const orders = `${orderColumns}1,7,2,2026-06-01T12:00:00.250Z,placed,false\r\n`;

const pet = { id: 7, name: "R", category: "", photoUrls: [], tags: [], status: "sold", quantity: 0 };

/** Writes files into a folder of their own. */
function createFiles(files: Record<string, string>): string {
  const cwd = createFolder();
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(cwd, name), content);
  }
  return cwd;
}

async function exported(cwd: string, ...args: string[]): Promise<string> {
  return (await petstore(["export", ...args], { cwd })).stdout;
}

describe("import and export", () => {
  it("give back the same CSV", async () => {
    const cwd = createFiles({ "pets.csv": pets });
    expect(await petstore(["import", "pets.csv"], { cwd })).toEqual({
      code: 0,
      stdout: "imported 2 pets\n",
      stderr: "",
    });
    expect(await exported(cwd)).toBe(pets);
  });

  it("give back the same orders", async () => {
    const cwd = createFiles({ "orders.csv": orders });
    expect((await petstore(["import", "--orders", "orders.csv"], { cwd })).stdout).toBe("imported 1 order\n");
    expect(await exported(cwd, "--orders")).toBe(orders);
  });

  it("give back the same JSON Lines, by stdin and stdout", async () => {
    const cwd = createFiles({ "pets.csv": pets });
    await petstore(["import", "pets.csv"], { cwd });
    const lines = await exported(cwd, "--format", "jsonl");
    expect(lines.split("\n")).toHaveLength(3);
    const other = createFolder();
    expect((await petstore(["import", "-"], { cwd: other, input: lines })).stdout).toBe("imported 2 pets\n");
    expect(await exported(other, "--format", "jsonl")).toBe(lines);
  });

  it("replace pets that exist, their stock included, and leave the others", async () => {
    const changed = '[{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":0}]';
    const cwd = createFiles({ "pets.csv": pets, "changed.JSON": changed });
    await petstore(["import", "pets.csv"], { cwd });
    await petstore(["import", "changed.JSON"], { cwd });
    expect(await exported(cwd)).toBe(pets.replace("7,Rex,dog,,a;b,available,3", "7,R,,,,sold,0"));
  });

  it("take pets and orders together", async () => {
    const cwd = createFiles({ "orders.csv": orders });
    const input = '{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":0}';
    const { stdout } = await petstore(["import", "-", "--orders", "orders.csv"], { cwd, input });
    expect(stdout).toBe("imported 1 pet\nimported 1 order\n");
  });

  it("take much on stdin, and leave no temporary file", async () => {
    const cwd = createFolder();
    const temp = createFolder();
    const lines = Array.from({ length: 20_000 }, (_, id) => `${JSON.stringify({ ...pet, id })}\n`).join("");
    const { stdout } = await petstore(["import", "-"], { cwd, input: lines, env: { TMPDIR: temp } });
    expect(stdout).toBe("imported 20000 pets\n");
    expect(await exported(cwd, "--format", "jsonl")).toBe(lines);
    expect(readdirSync(temp)).toEqual([]);
  });

  it("give a header, and no rows, of an empty store", async () => {
    const cwd = createFiles({ "pets.csv": petColumns });
    await petstore(["import", "pets.csv"], { cwd });
    expect(await exported(cwd)).toBe(petColumns);
    expect(await exported(cwd, "--orders")).toBe(orderColumns);
  });
});

const range = "must be an integer from -9223372036854775808 to 9223372036854775807";
const manyRows = Array.from({ length: 39_999 }, (_, index) => `${index + 100},Pet,dog,,,available,1\n`).join("");

describe("a bad row", () => {
  it.for<[string, Record<string, string>, string[], string]>([
    [
      "is named by its line, 40,000 rows in",
      { "new.csv": `${petColumns}${manyRows}1,Pet,dog,,,available,3.5\n` },
      ["new.csv"],
      `new.csv:40001: quantity: ${range}, not "3.5"`,
    ],
    [
      "is named by its line in a JSON array",
      { "new.json": '[\n{"id":7,\n"name":3}]' },
      ["new.json"],
      "new.json:2: name: must be text, not 3",
    ],
    [
      "of orders leaves the pets out too",
      { "new.csv": `${petColumns}1,Pet,dog,,,available,1\n`, "orders.csv": `${orderColumns}x,1,1,,placed,false\n` },
      ["new.csv", "--orders", "orders.csv"],
      `orders.csv:2: id: ${range}, not "x"`,
    ],
    [
      "of pets leaves the orders out too",
      { "new.csv": `${petColumns}1,Pet,dog,,,lost,1\n`, "orders.csv": orders },
      ["new.csv", "--orders", "orders.csv"],
      'new.csv:2: status: must be one of available, pending, sold, not "lost"',
    ],
  ])("%s, and changes nothing", async ([, files, args, line]) => {
    const cwd = createFiles({ ...files, "pets.csv": pets });
    const refusal = { code: 1, stdout: "", stderr: `petstore: ${line}\n` };
    expect(await petstore(["import", ...args], { cwd })).toEqual(refusal);
    expect(existsSync(join(cwd, "data"))).toBe(false);
    await petstore(["import", "pets.csv"], { cwd });
    expect(await petstore(["import", ...args], { cwd })).toEqual(refusal);
    expect(await exported(cwd)).toBe(pets);
    expect(await exported(cwd, "--orders")).toBe(orderColumns);
  });

  it.for<[string, string]>([
    ["is named by its line", `${JSON.stringify(pet)}\n{"id":8}\n`],
    ["may be the first", `{"id":8}\n${JSON.stringify(pet)}\n`],
  ])("on stdin %s, and makes no store", async ([, input]) => {
    const cwd = createFiles({});
    const temp = createFolder();
    const { code, stdout, stderr } = await petstore(["import", "-"], { cwd, input, env: { TMPDIR: temp } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^petstore: stdin:[12]: name: is missing\n$/);
    expect([readdirSync(cwd), readdirSync(temp)]).toEqual([[], []]);
  });

  it("on stdin changes nothing, in the orders neither", async () => {
    const cwd = createFiles({ "pets.csv": pets, "orders.csv": orders });
    await petstore(["import", "pets.csv"], { cwd });
    const input = '{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":0}\n{}';
    expect(await petstore(["import", "-", "--orders", "orders.csv"], { cwd, input })).toEqual({
      code: 1,
      stdout: "",
      stderr: "petstore: stdin:2: id: is missing\n",
    });
    expect(await exported(cwd)).toBe(pets);
    expect(await exported(cwd, "--orders")).toBe(orderColumns);
  });
});

it("says where there is no room for what comes from stdin", async () => {
  const cwd = createFolder();
  expect(await petstore(["import", "-"], { cwd, input: "{}", env: { TMPDIR: join(cwd, "no") } })).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: cannot write to ${join(cwd, "no")}: no such file or directory\n`,
  });
});

it("refuses to back up to a folder that is missing", async () => {
  const cwd = createFiles({ "pets.csv": pets });
  await petstore(["import", "pets.csv"], { cwd });
  expect(await petstore(["backup", "no/copy.db"], { cwd })).toEqual({
    code: 1,
    stdout: "",
    stderr: "petstore: cannot back up to no/copy.db: no such file or directory\n",
  });
});

it("backs up the whole store", async () => {
  const cwd = createFiles({ "pets.csv": pets });
  await petstore(["import", "pets.csv"], { cwd });
  const { code, stdout } = await petstore(["backup", "copy.db"], { cwd });
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^backed up data\/petstore\.db to copy\.db \(\d+\.\d KiB\)\n$/),
  });
  expect(await exported(cwd, "--db", "copy.db")).toBe(pets);
  const before = readFileSync(join(cwd, "copy.db"));
  expect((await petstore(["backup", "copy.db"], { cwd })).stderr).toBe(
    "petstore: copy.db: exists already; name a new file\n",
  );
  expect(readFileSync(join(cwd, "copy.db")).equals(before)).toBe(true);
});
