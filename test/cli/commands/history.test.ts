import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createPetstoreClient } from "../../../client/src/index.ts";
import { ChangeTable, changeToJsonLine } from "../../../src/cli/print/history.ts";
import { widthOf } from "../../../src/cli/print/terminal.ts";
import type { StockChange } from "../../../src/domain/history.ts";
import { maxInt64, minInt64 } from "../../../src/domain/ranges.ts";
import { openSqliteStore } from "../../../src/storage/sqlite/store.ts";
import { createFolder } from "../../support/folder.ts";
import { mintKey } from "../../support/keys.ts";
import { startPetstore } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";
import { startServer } from "../../support/server.ts";

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
  const { code, stderr } = await petstoreHere(["import", "pets.csv"], { cwd });
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`;

describe("petstore history", () => {
  it("shows each change, the newest last", async () => {
    const cwd = await createStore();
    await importPets(cwd, "id,quantity\n2,5\n");
    const { code, stdout, stderr } = await petstoreHere(["history"], { cwd });
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
    const { stdout } = await petstoreHere(["history", "--pet", "2", "--pet", "3", "--last", "3", "--json"], { cwd });
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

  it("ends where it has missed changes that are no longer kept", async () => {
    const cwd = await createStore();
    const following = startPetstore(["history", "--follow", "--json", "--last", "1"], { cwd });
    onTestFinished(async () => void (await following.end("SIGKILL")));
    expect(JSON.parse((await following.nextLine()) ?? "")).toMatchObject({ revision: 3 });
    process.kill(following.pid, "SIGSTOP");
    await importPets(cwd, "id,quantity\n1,5\n2,5\n3,5\n");
    const store = openSqliteStore(join(cwd, "data/petstore.db"), { writesDirectly: true });
    const soonMs = Date.now() + 1_000;
    while (await store.deleteOutdated(soonMs, soonMs)) {}
    await store.close();
    process.kill(following.pid, "SIGCONT");
    expect(await following.end()).toBe(1);
    expect(following.log()).toBe("petstore: the changes after revision 3 are no longer kept; run the command again\n");
  });

  it("names a key that was created while it follows", async () => {
    const server = await startServer();
    onTestFinished(() => server.stop());
    const { db, flags } = server.store;
    const early = await mintKey(db, ["--name", "Till 3"]);
    const following = startPetstore(["history", "--follow", "--last", "0", ...flags]);
    onTestFinished(async () => void (await following.end("SIGKILL")));
    expect(await following.nextLine()).toMatch(/^WHEN /);
    const late = await mintKey(db, ["--name", "Till 4"]);
    for (const { key, name } of [
      { ...early, name: "Till 3" },
      { ...late, name: "Till 4" },
    ]) {
      const petstore = createPetstoreClient({ baseUrl: server.origin, apiKey: key });
      await petstore.inventory.updateInventory({ petId: 7n, update: { quantity: 5n } });
      expect(await following.nextLine()).toMatch(` ${name} `);
    }
  });

  it.each([
    ["--pet", "x", "the id of a pet, such as 7"],
    ["--pet", "9223372036854775808", "the id of a pet, such as 7"],
    ["--last", "-1", "a whole number, such as 100"],
  ])("refuses %s %s", async (flag, value, expected) => {
    const { code, stdout, stderr } = await petstoreHere(["history", flag, value], { cwd: createFolder() });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^petstore: option '${flag}.*It must be ${expected}\\.\n$`));
  });

  it("refuses an unknown pet, and a missing store", async () => {
    const cwd = await createStore();
    expect(await petstoreHere(["history", "--pet", "404"], { cwd })).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^petstore: There is no pet 404\..*\n$/),
    });
    expect(await petstoreHere(["history"], { cwd: createFolder() })).toMatchObject({ code: 1, stdout: "" });
  });
});

function change(parts: Partial<StockChange>): StockChange {
  return {
    revision: 17n,
    petId: 7n,
    before: 12n,
    after: 10n,
    kind: "adjust",
    reason: "sale",
    reference: "order 17",
    keyId: "key_4kD0aT7uLw2QxYzB",
    requestId: "r-1",
    occurredAtMs: Date.UTC(2026, 5, 1, 12, 30, 5, 250),
    ...parts,
  };
}

const imported = change({
  before: undefined,
  kind: "import",
  reason: undefined,
  reference: undefined,
  keyId: undefined,
  requestId: undefined,
});
const keyNames = new Map([["key_4kD0aT7uLw2QxYzB", "Till 3"]]);

describe("a table of changes", () => {
  it("says when, what, who and why", () => {
    const table = new ChangeTable({ keyNames, width: undefined });
    expect(table.append([imported, change({})])).toBe(
      [
        "WHEN                  PET  BEFORE  AFTER  KIND    WHO        WHY",
        "2026-06-01 12:30:05Z  7    -       10     import  a command  -",
        "2026-06-01 12:30:05Z  7    12      10     adjust  Till 3     sale, order 17",
        "",
      ].join("\n"),
    );
  });

  it("goes on without a second header, and never becomes narrower", () => {
    const table = new ChangeTable({ keyNames, width: undefined });
    table.append([imported]);
    expect(table.append([change({ petId: 123_456n })])).toBe(
      "2026-06-01 12:30:05Z  123456  12      10     adjust  Till 3     sale, order 17\n",
    );
    expect(table.append([])).toBe("");
  });

  it("takes more changes at once than a function takes arguments", () => {
    const table = new ChangeTable({ keyNames, width: 80 });
    const text = table.append(Array.from({ length: 200_000 }, () => imported));
    expect(text.split("\n").length).toBe(200_002);
  });

  it.each([80, 100, 132])("fits %i columns with long names and reasons", (width) => {
    const table = new ChangeTable({ keyNames: new Map([["k", "犬".repeat(50)]]), width });
    const text = table.append([change({ keyId: "k", reason: "x".repeat(64), reference: "y".repeat(255) })]);
    expect(text).toContain("adjust");
    expect(Math.max(...text.split("\n").map(widthOf))).toBeLessThanOrEqual(width);
  });

  it("shows the whole of every number", () => {
    const table = new ChangeTable({ keyNames, width: 80 });
    const text = table.append([change({ petId: maxInt64, before: minInt64, after: minInt64 })]);
    expect(text).toContain(`${maxInt64}  ${minInt64}  ${minInt64}`);
  });

  it("lets no text obey a terminal", () => {
    const table = new ChangeTable({ keyNames: new Map([["k", "\u001b[2J"]]), width: undefined });
    expect(table.append([change({ keyId: "k", reason: "a\u202eb" })])).not.toMatch(/\p{Cf}|\p{Cc}(?<!\n)/u);
  });

  it.each([
    ["is unknown", new Map()],
    ["has no name", new Map([["key_4kD0aT7uLw2QxYzB", ""]])],
  ])("names a key that %s by its id", (_which, keyNames) => {
    const table = new ChangeTable({ keyNames, width: undefined });
    expect(table.append([change({})])).toContain("adjust  key_4kD0aT7uLw2QxYzB  sale");
  });
});

describe("a change in JSON", () => {
  it("has the fields and the exact numbers of the API", () => {
    expect(changeToJsonLine(change({ petId: maxInt64 }), "9c1f04b7aa52")).toMatch(
      /^\{"cursor":"[A-Za-z0-9_-]{26}","revision":17,"petId":9223372036854775807,"before":12,"after":10,"kind":"adjust","reason":"sale","reference":"order 17","keyId":"key_4kD0aT7uLw2QxYzB","requestId":"r-1","occurredAt":"2026-06-01T12:30:05.250Z"\}$/,
    );
  });

  it("leaves out what was not given", () => {
    expect(Object.keys(JSON.parse(changeToJsonLine(imported, "9c1f04b7aa52")))).toEqual([
      "cursor",
      "revision",
      "petId",
      "after",
      "kind",
      "occurredAt",
    ]);
  });
});
