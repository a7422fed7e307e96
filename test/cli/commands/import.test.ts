import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { createFolder } from "../../support/folder.ts";
import { petstore } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";

const petColumns = "id,name,category,photoUrls,tags,status,quantity\r\n";
const orderColumns = "id,petId,quantity,shipDate,status,complete\r\n";
const pets = `${petColumns}7,Rex,dog,,a;b,available,3\r\n9,"A ""B"", c",,http://a.example/1,,sold,-1\r\n`;
const orders = `${orderColumns}1,7,2,2026-06-01T12:00:00.250Z,placed,false\r\n`;

const pet = { id: 7, name: "R", category: "", photoUrls: [], tags: [], status: "sold", quantity: 0 };

/** Writes files into a new folder. */
function createFiles(files: Record<string, string>): string {
  const cwd = createFolder();
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(cwd, name), content);
  }
  return cwd;
}

async function exported(cwd: string, ...args: string[]): Promise<string> {
  return (await petstoreHere(["export", ...args], { cwd })).stdout;
}

describe("import and export", () => {
  it("write the CSV that they read", async () => {
    const cwd = createFiles({ "pets.csv": pets });
    expect(await petstore(["import", "pets.csv"], { cwd })).toEqual({
      code: 0,
      stdout: "imported 2 pets: 2 created\n",
      stderr: "petstore: created a new store, data/petstore.db\n",
    });
    expect(await exported(cwd)).toBe(pets);
  });

  it("write the orders that they read", async () => {
    const cwd = createFiles({ "orders.csv": orders });
    expect((await petstoreHere(["import", "--orders", "orders.csv"], { cwd })).stdout).toBe(
      "imported 1 order: 1 created\n",
    );
    expect(await exported(cwd, "--orders")).toBe(orders);
  });

  it("write to stdout the JSON Lines that they read from stdin", async () => {
    const cwd = createFiles({ "pets.csv": pets });
    await petstoreHere(["import", "pets.csv"], { cwd });
    const { stdout: lines } = await petstore(["export", "--format", "jsonl"], { cwd });
    expect(lines.split("\n")).toHaveLength(3);
    const other = createFolder();
    expect((await petstore(["import", "-"], { cwd: other, input: lines })).stdout).toBe("imported 2 pets: 2 created\n");
    expect(await exported(other, "--format", "jsonl")).toBe(lines);
  });

  it("replace existing pets and their stock, and leave the other pets", async () => {
    const changed = '[{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":0}]';
    const cwd = createFiles({ "pets.csv": pets, "changed.JSON": changed });
    await petstoreHere(["import", "pets.csv"], { cwd });
    await petstoreHere(["import", "changed.JSON"], { cwd });
    expect(await exported(cwd)).toBe(pets.replace("7,Rex,dog,,a;b,available,3", "7,R,,,,sold,0"));
  });

  it("take pets and orders together", async () => {
    const cwd = createFiles({ "orders.csv": orders });
    const input = '{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":0}';
    const { stdout } = await petstoreHere(["import", "-", "--orders", "orders.csv"], { cwd, input });
    expect(stdout).toBe("imported 1 pet: 1 created\nimported 1 order: 1 created\n");
  });

  it("take a large input on stdin, and leave no temporary file", async () => {
    const cwd = createFolder();
    const temp = createFolder();
    const lines = Array.from({ length: 20_000 }, (_, id) => `${JSON.stringify({ ...pet, id })}\n`).join("");
    const { stdout } = await petstore(["import", "-"], { cwd, input: lines, env: { TMPDIR: temp } });
    expect(stdout).toBe("imported 20000 pets: 20000 created\n");
    expect(await exported(cwd, "--format", "jsonl")).toBe(lines);
    expect(readdirSync(temp)).toEqual([]);
  });

  it.skipIf(process.platform === "win32")("take pets and orders from named pipes", async () => {
    const cwd = createFolder();
    execFileSync("mkfifo", ["pets.csv", "orders.csv"], { cwd });
    const [{ stdout }] = await Promise.all([
      petstore(["import", "pets.csv", "--orders", "orders.csv"], { cwd }),
      writeFile(join(cwd, "pets.csv"), `${petColumns}${manyRows}`),
      writeFile(join(cwd, "orders.csv"), orders),
    ]);
    expect(stdout).toBe("imported 39999 pets: 39999 created\nimported 1 order: 1 created\n");
    expect(await exported(cwd, "--orders")).toBe(orders);
  });

  it("write only the header for an empty store", async () => {
    const cwd = createFiles({ "pets.csv": petColumns });
    expect(await petstoreHere(["import", "pets.csv"], { cwd })).toEqual({
      code: 0,
      stdout: "imported 0 pets\n",
      stderr: "petstore: created a new store, data/petstore.db\n",
    });
    expect(await exported(cwd)).toBe(petColumns);
    expect(await exported(cwd, "--orders")).toBe(orderColumns);
  });
});

const range = "must be an integer from -9223372036854775808 to 9223372036854775807";
const manyRows = Array.from({ length: 39_999 }, (_, index) => `${index + 100},Pet,dog,,,available,1\n`).join("");

const formatHint = "; without --format, stdin is read as JSON Lines";

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
      "of orders imports no pets either",
      { "new.csv": `${petColumns}1,Pet,dog,,,available,1\n`, "orders.csv": `${orderColumns}x,1,1,,placed,false\n` },
      ["new.csv", "--orders", "orders.csv"],
      `orders.csv:2: id: ${range}, not "x"`,
    ],
    [
      "of pets imports no orders either",
      { "new.csv": `${petColumns}1,Pet,dog,,,lost,1\n`, "orders.csv": orders },
      ["new.csv", "--orders", "orders.csv"],
      'new.csv:2: status: must be one of available, pending, sold, not "lost"',
    ],
  ])("%s, and changes nothing", async ([, files, args, line]) => {
    const cwd = createFiles({ ...files, "pets.csv": pets });
    const refusal = { code: 1, stdout: "", stderr: `petstore: ${line}\n` };
    expect(await petstoreHere(["import", ...args], { cwd })).toEqual(refusal);
    expect(existsSync(join(cwd, "data"))).toBe(false);
    await petstoreHere(["import", "pets.csv"], { cwd });
    expect(await petstoreHere(["import", ...args], { cwd })).toEqual(refusal);
    expect(await exported(cwd)).toBe(pets);
    expect(await exported(cwd, "--orders")).toBe(orderColumns);
  });

  it.for<[string, string, string]>([
    ["is named by its line", `${JSON.stringify(pet)}\n{"name":"a"}\n`, "stdin:2: id: is missing"],
    ["may be the first", `{"name":"a"}\n${JSON.stringify(pet)}\n`, `stdin:1: id: is missing${formatHint}`],
    ["may be the header of a CSV file", pets, `stdin:1: the record must be valid JSON${formatHint}`],
    ["may begin a JSON array", JSON.stringify([pet]), `stdin:1: must be an object, not an array${formatHint}`],
  ])("on stdin %s, and makes no store", async ([, input, line]) => {
    const cwd = createFiles({});
    const temp = createFolder();
    const { code, stdout, stderr } = await petstoreHere(["import", "-"], { cwd, input, env: { TMPDIR: temp } });
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: `petstore: ${line}\n` });
    expect([readdirSync(cwd), readdirSync(temp)]).toEqual([[], []]);
  });

  it("on stdin changes nothing, nor does the file of orders", async () => {
    const cwd = createFiles({ "pets.csv": pets, "orders.csv": orders });
    await petstoreHere(["import", "pets.csv"], { cwd });
    const input = '{"id":7,"name":"R","category":"","photoUrls":[],"tags":[],"status":"sold","quantity":0}\n{}';
    expect(await petstoreHere(["import", "-", "--orders", "orders.csv"], { cwd, input })).toEqual({
      code: 1,
      stdout: "",
      stderr: "petstore: stdin:2: id: is missing\n",
    });
    expect(await exported(cwd)).toBe(pets);
    expect(await exported(cwd, "--orders")).toBe(orderColumns);
  });
});

describe("some columns alone", () => {
  const stock = (rows: string) => `id,quantity\n${rows}`;

  it("change those columns of existing pets, and leave the other columns", async () => {
    const cwd = createFiles({ "pets.csv": pets, "stock.csv": stock("9,40\n7,0\n") });
    await petstoreHere(["import", "pets.csv"], { cwd });
    expect(await petstoreHere(["import", "stock.csv"], { cwd })).toEqual({
      code: 0,
      stdout: "imported 2 pets: 2 changed\n",
      stderr: "",
    });
    expect(await exported(cwd)).toBe(pets.replace("available,3", "available,0").replace("sold,-1", "sold,40"));
  });

  it("may differ from line to line, and be mixed with whole records", async () => {
    const input = `{"id":7,"tags":["x"]}\n{"id":9,"status":"pending","name":"B"}\n${JSON.stringify({ ...pet, id: 1 })}\n`;
    const cwd = createFiles({ "pets.csv": pets });
    await petstoreHere(["import", "pets.csv"], { cwd });
    const { stdout } = await petstoreHere(["import", "-"], { cwd, input });
    expect(stdout).toBe("imported 3 pets: 1 created, 2 changed\n");
    expect(await exported(cwd)).toBe(
      `${petColumns}1,R,,,,sold,0\r\n7,Rex,dog,,x,available,3\r\n9,B,,http://a.example/1,,pending,-1\r\n`,
    );
  });

  it("change orders too", async () => {
    const cwd = createFiles({
      "pets.csv": pets,
      "orders.csv": orders,
      "done.csv": "id,status,complete\n1,delivered,true\n",
    });
    await petstoreHere(["import", "pets.csv", "--orders", "orders.csv"], { cwd });
    const { stdout, stderr } = await petstoreHere(["import", "--orders", "done.csv"], { cwd });
    expect({ stdout, stderr }).toEqual({ stdout: "imported 1 order: 1 changed\n", stderr: "" });
    expect(await exported(cwd, "--orders")).toBe(orders.replace("placed,false", "delivered,true"));
  });

  it.for<[string, string, string[], string]>([
    [
      "of an unknown pet",
      stock("7,1\n\n8,2\n"),
      ["new.csv"],
      "new.csv:4: there is no pet 8, and a new one needs all of id,name,category,photoUrls,tags,status,quantity",
    ],
    [
      "of an unknown order",
      "id,complete\n1,true\n2,true\n",
      ["--orders", "new.csv"],
      "new.csv:3: there is no order 2, and a new one needs all of id,petId,quantity,shipDate,status,complete",
    ],
    ["that are bad", stock("7,1\n9,x\n"), ["new.csv"], `new.csv:3: quantity: ${range}, not "x"`],
  ])("%s change nothing, with or without --dry-run", async ([, content, args, line]) => {
    const cwd = createFiles({ "new.csv": content, "pets.csv": pets, "orders.csv": orders });
    await petstoreHere(["import", "pets.csv", "--orders", "orders.csv"], { cwd });
    const refusal = { code: 1, stdout: "", stderr: `petstore: ${line}\n` };
    expect(await petstoreHere(["import", ...args], { cwd })).toEqual(refusal);
    expect(await petstoreHere(["import", "--dry-run", ...args], { cwd })).toEqual(refusal);
    expect(await exported(cwd)).toBe(pets);
    expect(await exported(cwd, "--orders")).toBe(orders);
  });

  it("leave an older store at its version, and an empty file empty", async () => {
    const cwd = createFiles({ "stock.csv": stock("99,1\n") });
    const [older, empty] = [join(cwd, "older.db"), join(cwd, "empty.db")];
    const driver = new Sqlite(older);
    driver.exec(readFileSync(join(import.meta.dirname, "../../storage/schemas/v1.sql"), "utf8"));
    driver.close();
    writeFileSync(empty, "");
    for (const db of [older, empty]) {
      const before = readFileSync(db);
      const { code, stderr } = await petstoreHere(["import", "stock.csv", "--db", db], { cwd });
      expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no pet 99") });
      expect(readFileSync(db).equals(before)).toBe(true);
    }
  });

  it("make no store", async () => {
    const cwd = createFiles({ "stock.csv": stock("7,1\n") });
    const line = `stock.csv:2: there is no pet 7, and a new one needs all of ${petColumns.trimEnd()}`;
    const refusal = { code: 1, stdout: "", stderr: `petstore: ${line}\n` };
    expect(await petstoreHere(["import", "stock.csv"], { cwd })).toEqual(refusal);
    expect(await petstoreHere(["import", "stock.csv", "--dry-run"], { cwd })).toEqual(refusal);
    expect(readdirSync(cwd)).toEqual(["stock.csv"]);
  });
});

describe("a dry run", () => {
  it("says what it would do, and makes no store", async () => {
    const cwd = createFiles({ "pets.csv": pets, "orders.csv": orders });
    expect(await petstoreHere(["import", "pets.csv", "--orders", "orders.csv", "--dry-run"], { cwd })).toEqual({
      code: 0,
      stdout: "would import 2 pets: 2 created\nwould import 1 order: 1 created\n",
      stderr: "",
    });
    expect(readdirSync(cwd).sort()).toEqual(["orders.csv", "pets.csv"]);
  });

  it("compares with the store, and changes nothing in it", async () => {
    const cwd = createFiles({ "pets.csv": pets, "more.csv": `${petColumns}7,Max,dog,,,sold,1\n8,Kit,cat,,,sold,1\n` });
    await petstoreHere(["import", "pets.csv"], { cwd });
    const { stdout } = await petstoreHere(["import", "more.csv", "--dry-run"], { cwd });
    expect(stdout).toBe("would import 2 pets: 1 created, 1 replaced\n");
    expect(await exported(cwd)).toBe(pets);
    expect((await petstoreHere(["import", "more.csv"], { cwd })).stdout).toBe(
      "imported 2 pets: 1 created, 1 replaced\n",
    );
  });
});

describe("--format", () => {
  it.for<[string, string[], string]>([
    ["csv", ["import", "-", "--format", "csv"], pets],
    ["json", ["import", "-", "--format", "json"], JSON.stringify([pet, { ...pet, id: 8 }])],
    ["jsonl", ["import", "-", "--format", "jsonl"], `${JSON.stringify(pet)}\n${JSON.stringify({ ...pet, id: 8 })}\n`],
  ])("is read from stdin: %s", async ([, args, input]) => {
    const { stdout } = await petstoreHere(args, { cwd: createFolder(), input });
    expect(stdout).toBe("imported 2 pets: 2 created\n");
  });

  it("overrides the extension of a file", async () => {
    const cwd = createFiles({ "pets.json": pets });
    expect((await petstoreHere(["import", "pets.json", "--format", "csv"], { cwd })).code).toBe(0);
    expect(await exported(cwd)).toBe(pets);
  });
});

describe("orders of missing pets", () => {
  it("are imported with a warning", async () => {
    const rows = [1, 2, 3, 4, 5, 6, 7, 8].map(
      (id) => `${id},${id < 3 ? 404 : 400 + id},2,2026-06-01T12:00:00Z,placed,false\r\n`,
    );
    const cwd = createFiles({ "orders.csv": `${orderColumns}${rows.join("")}` });
    expect(await petstoreHere(["import", "--orders", "orders.csv"], { cwd })).toEqual({
      code: 0,
      stdout: "imported 8 orders: 8 created\n",
      stderr:
        "petstore: created a new store, data/petstore.db\n" +
        "petstore: warning: 8 orders name pets that are not in the store: 403, 404, 405, 406, 407, …\n",
    });
    expect(await exported(cwd, "--orders")).toBe(`${orderColumns}${rows.join("")}`);
  });

  it("cause the warning in a dry run too, unless the pet is imported with them", async () => {
    const cwd = createFiles({ "orders.csv": orders, "pets.csv": pets });
    const dryRun = ["import", "--orders", "orders.csv", "--dry-run"];
    expect((await petstoreHere(dryRun, { cwd })).stderr).toBe(
      "petstore: warning: 1 order names a pet that is not in the store: 7\n",
    );
    expect((await petstoreHere([...dryRun, "pets.csv"], { cwd })).stderr).toBe("");
  });
});

it("names the folder in which stdin cannot be stored", async () => {
  const cwd = createFolder();
  expect(await petstoreHere(["import", "-"], { cwd, input: "{}", env: { TMPDIR: join(cwd, "no") } })).toEqual({
    code: 1,
    stdout: "",
    stderr: `petstore: cannot write to ${join(cwd, "no")}: no such file or directory\n`,
  });
});
