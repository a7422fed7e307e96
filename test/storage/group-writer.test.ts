import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { ChangeTokens, WriteContext } from "../../src/domain/store.ts";
import { openDatabase } from "../../src/storage/sqlite/database.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { FileIdentity } from "../../src/storage/sqlite/store-file.ts";
import { columnsOfCommands } from "../../src/storage/sqlite/writer/batch-columns.ts";
import { GroupWriter } from "../../src/storage/sqlite/writer/group-writer.ts";
import type { Task } from "../../src/storage/sqlite/writer/writes.ts";
import { createFolder } from "../support/folder.ts";
import { createContext, createPet } from "./samples.ts";
import { adjust, set } from "./stocked-pets.ts";

/** A writer in this thread, for a store with pets 1, 2 and 3, of which there are 10 each. */
async function createWriter() {
  const file = join(createFolder(), "petstore.db");
  const store = openSqliteStore(file);
  await store.importAll({ pets: [1n, 2n, 3n].map((id) => createPet({ id, quantity: 10n })) }, 0);
  await store.close();
  const connection = openDatabase(file);
  onTestFinished(() => connection.close());
  const writer = new GroupWriter(connection, new FileIdentity(file));
  return { file, connection, writer };
}

const queued = [adjust(1n, -1n), adjust(2n, -1n), adjust(3n, -1n)].map((command) => ({
  command,
  context: createContext(),
}));

/** The quantities of all pets, and the pets of all changes. */
function contentOf(connection: Awaited<ReturnType<typeof createWriter>>["connection"]) {
  return [
    connection
      .all<{ quantity: bigint }>(`SELECT quantity FROM current_stock ORDER BY pet_id`)
      .map(({ quantity }) => quantity),
    connection.all<{ pet_id: bigint }>(`SELECT pet_id FROM changes`).map((row) => row.pet_id),
  ];
}

it("leaves the others of a group alone when one command fails halfway", async () => {
  const { connection, writer } = await createWriter();
  connection.execute(`CREATE TEMP TRIGGER failing BEFORE INSERT ON changes WHEN new.pet_id = 2
                      BEGIN SELECT raise(ABORT, 'no'); END`);
  const { answers, message } = writer.commit(queued, []);
  expect(answers.map(({ quantity, revision }) => [quantity, revision])).toEqual([
    [9n, 4],
    [0n, 0],
    [9n, 5],
  ]);
  expect(message).toMatchObject({
    commandCount: 3,
    revision: 5,
    others: { commandOutcomes: [{ error: { message: "no" } }] },
  });
  expect(contentOf(connection)).toEqual([
    [9n, 10n, 9n],
    [1n, 2n, 3n, 1n, 3n],
  ]);
});

it("leaves the others of a group alone when a batch fails halfway", async () => {
  const { connection, writer } = await createWriter();
  connection.execute(`CREATE TEMP TRIGGER failing BEFORE INSERT ON changes WHEN new.pet_id = 2
                      BEGIN SELECT raise(ABORT, 'no'); END`);
  const batchOf = (...petIds: bigint[]): Task => ({
    name: "changeStockInBatch",
    args: [columnsOfCommands(petIds.map((petId) => adjust(petId, -1n))), false, createContext()],
  });
  const { message } = writer.commit(queued.slice(0, 1), [batchOf(3n, 2n), batchOf(3n)]);
  expect(message).toMatchObject({
    revision: 5,
    others: { tasks: [{ error: { message: "no" } }, { value: { isReplayed: false } }], petIds: BigInt64Array.of(3n) },
  });
  expect(contentOf(connection)).toEqual([
    [9n, 10n, 9n],
    [1n, 2n, 3n, 1n, 3n],
  ]);
});

it("judges each command of a group by what the ones before it have found held, and have written", async () => {
  const { connection, writer } = await createWriter();
  const [now, late] = [1_000, 2_000].map((nowMs) => createContext({ nowMs }));
  const hold = { holdId: "hold_a", petId: 1n, quantity: 4n, ttlMs: 500 };
  writer.commit([], [{ name: "createHold", args: [hold, now] }]);
  const taken = [adjust(1n, -7n), adjust(1n, -3n), adjust(1n, -1n)];
  const { answers } = writer.commit(
    taken.map((command) => ({ command, context: late as WriteContext })),
    [],
  );
  expect(answers.map(({ quantity, revision }) => [quantity, revision])).toEqual([
    [3n, 4],
    [0n, 5],
    [0n, 0],
  ]);
  expect(connection.all(`SELECT quantity, held, changes FROM current_stock WHERE pet_id = 1`)).toEqual([
    { quantity: 0n, held: 0n, changes: 3n },
  ]);
});

it("writes nothing to the disk for a group of commands that are all refused", async () => {
  const { file, writer } = await createWriter();
  const other = openDatabase(file);
  onTestFinished(() => other.close());
  const version = other.pragma("data_version");
  const refused = [set(404n, 1n), { ...set(1n, 1n), versions: ["other"] }, adjust(1n, -11n)];
  writer.commit(
    refused.map((command) => ({ command, context: createContext() })),
    [],
  );
  expect(other.pragma("data_version")).toBe(version);
});

it("has done nothing of a group that fails as a whole", async () => {
  const { connection, writer } = await createWriter();
  const content = contentOf(connection);
  connection.execute(`CREATE TEMP TRIGGER failing BEFORE INSERT ON changes WHEN new.pet_id = 2
                      BEGIN SELECT raise(ROLLBACK, 'no'); END`);
  expect(() => writer.commit(queued, [])).toThrow("no");
  expect(contentOf(connection)).toEqual(content);
});

it("tells nothing besides numbers of a group of commands that are done or refused", async () => {
  const { writer } = await createWriter();
  const refused = { command: set(9n, 1n), context: createContext() };
  const { message } = writer.commit([...queued, refused], []);
  expect(message).toEqual({
    commandCount: 4,
    size: 4,
    revision: 6,
    lineage: expect.any(String),
    syncMs: expect.any(Number),
  });
});

it("tells another program's change from its own, which the same group may make before the tokens are asked for", async () => {
  const { file, writer } = await createWriter();
  const other = openSqliteStore(file);
  onTestFinished(() => other.close());
  const tokensAfter = (commands: typeof queued, others: readonly Task[] = []) =>
    writer.commit(commands, [...others, { name: "changeTokens" }]).message.others?.tasks.at(-1);
  const before = tokensAfter([]);
  const adjustments: Task = {
    name: "changeStockInBatch",
    args: [columnsOfCommands([adjust(1n, -1n), adjust(2n, -1n)]), false, createContext()],
  };
  expect([tokensAfter(queued), tokensAfter([]), tokensAfter([], [adjustments])]).toEqual([before, before, before]);
  await other.importAll({ pets: [] }, 0);
  expect(tokensAfter([])).toEqual(before);
  await other.importAll({ pets: [createPet({ id: 4n })] }, 0);
  const { uncounted } = (before as { value: ChangeTokens }).value;
  expect(tokensAfter([])).toMatchObject({ value: { uncounted } });
});
