import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { MessagePort, Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { createContext, createPet } from "./samples.ts";
import { set } from "./stocked-pets.ts";

/** A store whose writing thread has written once, and what it says of the thread's end. */
async function createStore() {
  const posted = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => posted.mockRestore());
  const failures: Error[] = [];
  const store = openSqliteStore(join(createFolder(), "petstore.db"), { ended: (error) => failures.push(error) });
  let isClosed = false;
  const close = async () => {
    isClosed = true;
    await store.close();
  };
  onTestFinished(() => (isClosed ? undefined : close()));
  await store.importAll({ pets: [createPet({ id: 7n })] }, 0);
  const write = (quantity: bigint) => store.changeStock(set(7n, quantity), createContext());
  await write(5n);
  const [thread] = posted.mock.contexts as [Worker];
  onTestFinished(async () => void (await thread.terminate()));
  return { write, close, failures, thread };
}

/** As the thread tells of a group of one command. */
const answer = { commandCount: 1, revision: 9, lineage: "a", size: 1, syncMs: 0, committedAtMs: 0 };

it("believes nothing that a thread says after its failure, when others wait for the next thread", async () => {
  const { write, thread } = await createStore();
  thread.emit("error", new Error("a bug"));
  const writing = write(1_000n);
  thread.emit("message", answer);
  expect((await writing).value.quantity).toBe(1_000n);
});

it("tells those who wait, and the server, of a thread that fails", async () => {
  const { write, thread, failures } = await createStore();
  const writing = write(6n);
  thread.emit("error", new Error("a bug"));
  thread.emit("exit", 1);
  await expect(writing).rejects.toMatchObject({ code: "UNAVAILABLE", cause: { message: "a bug" } });
  expect(failures.map(({ message }) => message)).toEqual(["a bug"]);
});

it("is closed though its thread fails at the end", async () => {
  const { close, thread, failures } = await createStore();
  thread.prependOnceListener("exit", () => thread.emit("error", new Error("a bug")));
  await close();
  expect(failures).toEqual([]);
});

it("settles what is written while it is closed", async () => {
  const { write, close } = await createStore();
  const writes: Promise<unknown>[] = [write(6n)];
  let isClosed = false;
  const closing = close().then(() => {
    isClosed = true;
  });
  // Each of them comes while the thread commits the one before.
  for (let quantity = 7n; quantity < 100n && !isClosed; quantity += 1n) {
    writes.push(write(quantity));
    await setImmediate();
  }
  await closing;
  await Promise.all(writes);
});

describe("a thread that cannot be started", () => {
  /** A store that cannot start its first thread, or none at all. */
  function openLimitedStore(refused: "always" | "once") {
    // A new thread is posted what it starts with.
    const posted = vi.spyOn(MessagePort.prototype, "postMessage");
    onTestFinished(() => posted.mockRestore());
    const limit = Object.assign(new Error("no more threads"), { code: "ERR_WORKER_INIT_FAILED" });
    const refuse = () => {
      throw limit;
    };
    if (refused === "always") {
      posted.mockImplementation(refuse);
    } else {
      posted.mockImplementationOnce(refuse);
    }
    return openSqliteStore(join(createFolder(), "petstore.db"));
  }

  it("fails those who wait for it, and the next write starts one", async () => {
    const store = openLimitedStore("once");
    onTestFinished(() => store.close());
    await store.importAll({ pets: [createPet({ id: 7n, quantity: 5n })] }, 0);
    const written = store.changeStock(set(7n, 6n), createContext());
    const asked = store.changeTokens();
    for (const refused of [written, asked]) {
      await expect(refused).rejects.toMatchObject({ code: "UNAVAILABLE", cause: { code: "ERR_WORKER_INIT_FAILED" } });
    }
    const request = { petId: 7n, quantity: 1n, ttlMs: 1_000, reference: undefined };
    const [first, second] = await Promise.all([
      store.createHold({ ...request, holdId: "hold_a" }, createContext()),
      store.createHold({ ...request, holdId: "hold_b" }, createContext()),
    ]);
    expect([first.value.id, second.value.id]).toEqual(["hold_a", "hold_b"]);
    expect((await store.changeStock(set(7n, 8n), createContext())).value.quantity).toBe(8n);
  });

  it("fails a single command", async () => {
    const store = openLimitedStore("once");
    onTestFinished(() => store.close());
    await store.importAll({ pets: [createPet({ id: 7n })] }, 0);
    await expect(store.changeStock(set(7n, 6n), createContext())).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect((await store.changeStock(set(7n, 8n), createContext())).value.quantity).toBe(8n);
  });

  it("keeps no store from being closed", async () => {
    const store = openLimitedStore("always");
    const asked = store.changeTokens();
    await Promise.all([store.close(), expect(asked).rejects.toMatchObject({ code: "UNAVAILABLE" })]);
  });
});
