import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { createPet, everything } from "./samples.ts";

const module = new URL("../../src/storage/sqlite/store.ts", import.meta.url).href;
const pets = 8;

/** Updates its pets for ever, all of them at a time, and prints each update that the store has acknowledged. */
const script = (file: string) => `
  import { openSqliteStore } from ${JSON.stringify(module)};
  const store = openSqliteStore(${JSON.stringify(file)});
  async function updateForEver(petId) {
    for (let quantity = 1n; ; quantity += 1n) {
      await store.changeStock({ kind: "set", petId, quantity }, { nowMs: Date.now(), keyId: "k", requestId: "r" });
      process.stdout.write(petId + " " + quantity + "\\n");
    }
  }
  for (let petId = 0n; petId < ${pets}n; petId += 1n) {
    updateForEver(petId);
  }`;

it("keeps every acknowledged update, and nothing that was never asked for, through kill -9", async () => {
  const file = join(createFolder(), "petstore.db");
  const store = openSqliteStore(file);
  await store.importAll({ pets: Array.from({ length: pets }, (_, n) => createPet({ id: BigInt(n) })) }, 0);
  await store.close();

  const acknowledged = await updateUntilKilled(file, 2_000);

  const reopened = openSqliteStore(file);
  for (const { petId, quantity } of await reopened.listInventory(everything)) {
    const last = acknowledged.get(petId) ?? 0n;
    // One more may have been committed, whose acknowledgement did not get through.
    expect([last, last + 1n]).toContain(quantity);
  }
  await reopened.close();
});

/** The last acknowledged quantity of each pet. */
async function updateUntilKilled(file: string, updates: number): Promise<Map<bigint, bigint>> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script(file)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const acknowledged = new Map<bigint, bigint>();
  let count = 0;
  for await (const line of createInterface(child.stdout)) {
    const [petId = "", quantity = ""] = line.split(" ");
    acknowledged.set(BigInt(petId), BigInt(quantity));
    count += 1;
    if (count === updates) {
      child.kill("SIGKILL");
    }
  }
  expect(await exited).toEqual([null, "SIGKILL"]);
  return acknowledged;
}
