import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireServerLock, StoreHeldError } from "../../src/storage/sqlite/server-lock.ts";
import { createFolder } from "../support/folder.ts";

const module = new URL("../../src/storage/sqlite/server-lock.ts", import.meta.url).href;

let folder: string;
let children: ChildProcess[];

beforeEach(() => {
  folder = createFolder();
  children = [];
});

afterEach(() => Promise.all(children.map(kill)));

/** Has another process take the lock, and returns it with what it says: `held`, or whose process it is. */
async function spawnHolder(file: string): Promise<{ child: ChildProcess; says: string }> {
  const script = `
    import { acquireServerLock } from ${JSON.stringify(module)};
    try {
      acquireServerLock(${JSON.stringify(file)});
      console.log("held");
    } catch (error) {
      console.log(error.pid ?? error.message);
    }
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [data] = await once(child.stdout, "data");
  return { child, says: String(data).trim() };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}

describe("the lock of a server", () => {
  it("is had by one process at a time, and names it to the others", async () => {
    const file = join(folder, "petstore.db");
    const { child, says } = await spawnHolder(file);
    expect(says).toBe("held");
    expect(() => acquireServerLock(file)).toThrow(new StoreHeldError(file, child.pid ?? 0));
    expect((await spawnHolder(file)).says).toBe(String(child.pid));
  });

  it("ends with its process, kill -9 included", async () => {
    const file = join(folder, "petstore.db");
    await kill((await spawnHolder(file)).child);
    const { child, says } = await spawnHolder(file);
    expect(says).toBe("held");
    await kill(child);
    acquireServerLock(file).release();
  });

  it.runIf(process.geteuid?.() === 0).each([
    ["to the store's owner", (file: string) => writeFileSync(file, "")],
    ["with a new store to the owner of the folder", () => {}],
  ])("leaves its files %s where root takes it", (_to, prepare) => {
    const file = join(folder, "petstore.db");
    prepare(file);
    chownSync(existsSync(file) ? file : folder, 65_534, 65_534);
    acquireServerLock(file).release();
    expect(readdirSync(folder)).toHaveLength(3);
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)), name).toMatchObject({ uid: 65_534, gid: 65_534 });
    }
  });

  it("is had once within a process, until it is released", () => {
    const file = join(folder, "petstore.db");
    const lock = acquireServerLock(file);
    expect(() => acquireServerLock(file)).toThrow(new StoreHeldError(file, process.pid));
    lock.release();
    acquireServerLock(file).release();
  });

  it("is the same by every path", () => {
    mkdirSync(join(folder, "real"));
    symlinkSync(join(folder, "real"), join(folder, "alias"));
    symlinkSync(join(folder, "real", "petstore.db"), join(folder, "link.db"));
    const lock = acquireServerLock(join(folder, "real", "petstore.db"));
    for (const path of ["real/../real/petstore.db", "alias/petstore.db", "link.db"]) {
      expect(() => acquireServerLock(join(folder, path))).toThrow(StoreHeldError);
    }
    expect(() => acquireServerLock(`${folder}/real/./petstore.db`)).toThrow(StoreHeldError);
    acquireServerLock(join(folder, "real", "other.db")).release();
    lock.release();
  });

  it("is had by nobody under a second name", () => {
    const file = join(folder, "petstore.db");
    const lock = acquireServerLock(file);
    linkSync(file, join(folder, "hard.db"));
    expect(() => acquireServerLock(join(folder, "hard.db"))).toThrow("hard.db: has 2 names (hard links)");
    lock.release();
  });

  it("is had by exactly one of several that start together", async () => {
    const file = join(folder, "petstore.db");
    const answers = await Promise.all(Array.from({ length: 5 }, () => spawnHolder(file)));
    const holders = answers.filter(({ says }) => says === "held");
    expect(holders.length).toBe(1);
    const pid = String(holders[0]?.child.pid);
    expect(answers.filter(({ says }) => says === pid).length).toBe(4);
  });

  it("is never said to be held by an earlier holder, however long another process takes to start", async () => {
    const file = join(folder, "petstore.db");
    await kill((await spawnHolder(file)).child);
    const [start, lock] = ["petstore.db.start.lock", "petstore.db.lock"].map((name) => new Sqlite(join(folder, name)));
    start?.exec("BEGIN IMMEDIATE");
    lock?.exec("BEGIN IMMEDIATE");
    const refused = spawnHolder(file);
    // Long enough for a process that does not wait. One that waits passes, however late it is.
    await Promise.race([refused, setTimeout(1_000)]);
    lock?.prepare("UPDATE holder SET pid = ?, token = 'other'").run(process.pid);
    lock?.exec("COMMIT; BEGIN IMMEDIATE");
    start?.close();
    expect((await refused).says).toBe(String(process.pid));
    lock?.close();
  });
});
