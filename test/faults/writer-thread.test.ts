import { expect, it, onTestFinished } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { importFixture } from "../support/fixture.ts";
import { evaluateOnThread, inspectable } from "../support/inspector.ts";
import { serve, TestStore } from "../support/server.ts";

/** Holds the thread up for a while, so that updates wait for it, and ends it. */
const end = "const end = Date.now() + 1500; while (Date.now() < end); process.exit(7)";

it("ends when its writing thread has ended, and has answered the updates that waited for it", async () => {
  const store = new TestStore();
  await importFixture(store.db);
  const { key } = await store.mintKey();
  const server = await serve(store, { env: inspectable });
  onTestFinished(() => server.stop());
  const update = (quantity: bigint) =>
    server.call(rest, "updateInventory", { petId: 7n, update: { quantity } }, { key });
  expect((await update(1n)).failure).toBeUndefined();

  await evaluateOnThread(() => server.log, end);
  const outcomes = await Promise.all([2n, 3n, 4n].map(update));
  expect(outcomes.map(({ failure }) => failure?.code)).toEqual(["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"]);

  expect(await server.ended()).toBe(1);
  const fatal = server.log.split("\n").filter((line) => line.includes('"level":60'));
  expect(fatal.map((line) => JSON.parse(line))).toMatchObject([
    {
      msg: "the server stops: the store's writer thread has failed",
      err: { message: "the writing thread has ended with code 7" },
    },
  ]);
});
