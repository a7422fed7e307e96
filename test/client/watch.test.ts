import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { reasonOf, type StockWatch } from "../../client/src/index.ts";
import { failure, overLimit } from "./failures.ts";
import { cursorOf, cut, type Script, ScriptedFeed, type Step } from "./scripted-feed.ts";

const down = failure(Code.Unavailable);
const stopping = failure(Code.Unavailable, { reason: "UNAVAILABLE" });
const crowded = failure(Code.ResourceExhausted, { reason: "TOO_MANY_STREAMS" });
const refused: Script = { refused: new ConnectError("connect ECONNREFUSED", Code.Unavailable) };

/** Reads as many changes. Returns their revisions, and the failure in their place where one ends the watch. */
async function read(watch: StockWatch, count: number): Promise<unknown[]> {
  const told: unknown[] = [];
  while (told.length < count) {
    try {
      const { value, done } = await watch.next();
      told.push(done === true ? "done" : Number(value.revision));
    } catch (error) {
      told.push(error);
      return told;
    }
  }
  return told;
}

describe("a watch goes on after its last cursor", () => {
  it.each<[title: string, loss: Step]>([
    ["when the connection breaks", cut],
    ["when the server stops", stopping],
    ["when somebody in between is unavailable", down],
    ["when the stream ends without a word", "end"],
    ["when the stream is reset", failure(Code.Internal)],
    ["when somebody in between cancels it", failure(Code.Canceled)],
    ["when a message is cut in two", failure(Code.InvalidArgument)],
  ])("%s", async (_title, loss) => {
    const feed = new ScriptedFeed([[1, 2, loss], [3, loss], [4]]);
    const watch = feed.client.watchStockChanges({ after: cursorOf(0) });
    expect(await read(watch, 4)).toEqual([1, 2, 3, 4]);
    expect(feed.requests.map(({ after }) => after)).toEqual([0, 2, 3].map(cursorOf));
    expect(feed.timing.sleptMs).toEqual([150, 150]);
    await watch.return();
  });

  it("after a default wait where the client's number is undefined", async () => {
    const retry = { maxAttempts: undefined, initialDelayMs: undefined, maxDelayMs: undefined };
    const feed = new ScriptedFeed([[1, cut], [2]], { retry });
    const watch = feed.client.watchStockChanges({ after: cursorOf(0) });
    expect(await read(watch, 2)).toEqual([1, 2]);
    expect(feed.timing.sleptMs).toEqual([150]);
    await watch.return();
  });

  it("or its last heartbeat, with the same filters", async () => {
    const feed = new ScriptedFeed([[1, { heartbeat: "cursor-9" }, cut], [10]]);
    const watch = feed.client.watchStockChanges({ petId: [7n, 8n], crossing: 3n });
    expect(watch.cursor).toBeUndefined();
    expect(await read(watch, 2)).toEqual([1, 10]);
    expect(watch.cursor).toBe(cursorOf(10));
    expect(feed.requests).toEqual([
      { after: undefined, petId: [7n, 8n], crossing: 3n },
      { after: "cursor-9", petId: [7n, 8n], crossing: 3n },
    ]);
    await watch.return();
  });

  it("however long an outage takes, and ever less often", async () => {
    const feed = new ScriptedFeed([[1, stopping], ...Array(50).fill(refused), [2]]);
    const watch = feed.client.watchStockChanges();
    expect(await read(watch, 2)).toEqual([1, 2]);
    expect(feed.timing.sleptMs).toEqual([150, 300, 600, 1_200, 2_400, ...Array(46).fill(4_800)]);
    await watch.return();
  });

  it("ever less often, too, where connections are lost before they tell anything", async () => {
    const feed = new ScriptedFeed([[cut], [cut], [cut], [1, cut], [2]]);
    const watch = feed.client.watchStockChanges();
    expect(await read(watch, 2)).toEqual([1, 2]);
    expect(feed.timing.sleptMs).toEqual([150, 300, 600, 150]);
    await watch.return();
  });
});

describe("the first connection", () => {
  it("is waited for as any other", async () => {
    const losses: unknown[] = [];
    const feed = new ScriptedFeed([...Array(50).fill(refused), [1]]);
    const watch = feed.client.watchStockChanges({ onLost: (error) => losses.push(error) });
    expect(await read(watch, 1)).toEqual([1]);
    expect(losses).toHaveLength(50);
    await watch.return();
  });

  it("is not tried again where the key cannot be had", async () => {
    const feed = new ScriptedFeed([], { apiKey: () => Promise.reject(new Error("the vault is closed")) });
    const [error] = await read(feed.client.watchStockChanges(), 1);
    expect(error).toMatchObject({ cause: new Error("the vault is closed") });
    expect(feed.timing.sleptMs).toEqual([]);
  });

  it("can be left where the key never comes", async () => {
    const feed = new ScriptedFeed([], { apiKey: () => new Promise(() => {}) });
    const watch = feed.client.watchStockChanges();
    const next = watch.next();
    await watch.return();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe("a watch ends", () => {
  it.each<[reason: string, code: Code]>([
    ["CURSOR_EXPIRED", Code.OutOfRange],
    ["API_KEY_REVOKED", Code.Unauthenticated],
    ["API_KEY_EXPIRED", Code.Unauthenticated],
    ["SCOPE_MISSING", Code.PermissionDenied],
    ["PET_NOT_FOUND", Code.NotFound],
    ["INVALID_REQUEST", Code.InvalidArgument],
    ["INTERNAL", Code.Internal],
  ])("with %s, at the start and later", async (reason, code) => {
    const final = failure(code, { reason });
    for (const scripts of [[[final]], [[1, final]], [[1, cut], [final]], [[1, cut], { refused: final }]]) {
      const feed = new ScriptedFeed(scripts as Script[]);
      const told = await read(feed.client.watchStockChanges(), 2);
      expect(reasonOf(told.at(-1))).toBe(reason);
      expect(feed.attempts).toBe(scripts.length);
    }
  });

  it("and stays ended", async () => {
    const watch = new ScriptedFeed([
      [failure(Code.OutOfRange, { reason: "CURSOR_EXPIRED" })],
    ]).client.watchStockChanges();
    await read(watch, 1);
    expect(await read(watch, 1)).toEqual(["done"]);
  });

  it("with what its key function throws, where the service has answered before", async () => {
    let keys = 0;
    const apiKey = () => (keys++ === 0 ? "psk_x" : Promise.reject(new Error("the vault is closed")));
    const told = await read(new ScriptedFeed([[1, cut]], { apiKey }).client.watchStockChanges(), 2);
    expect(told).toEqual([1, expect.objectContaining({ cause: new Error("the vault is closed") })]);
  });
});

describe("the limits", () => {
  it.each([{ first: [] }, { first: [[1, cut]] }])("are waited for, after $first", async ({ first }) => {
    const feed = new ScriptedFeed([...(first as Script[]), [overLimit(17)], [2]]);
    const watch = feed.client.watchStockChanges();
    expect((await read(watch, first.length + 1)).at(-1)).toBe(2);
    expect(feed.timing.sleptMs.at(-1)).toBe(17_100);
    await watch.return();
  });

  it("end it where the policy does not allow the wait", async () => {
    for (const first of [[], [[1, cut]]] as Script[][]) {
      const feed = new ScriptedFeed([...first, [overLimit(3_600)]]);
      const told = await read(feed.client.watchStockChanges(), 2);
      expect(reasonOf(told.at(-1))).toBe("RATE_LIMIT_EXCEEDED");
    }
  });

  it("of streams end a watch that never had one", async () => {
    const feed = new ScriptedFeed([[crowded]]);
    const [error] = await read(feed.client.watchStockChanges(), 1);
    expect(reasonOf(error)).toBe("TOO_MANY_STREAMS");
    expect(feed.attempts).toBe(1);
  });

  it("of streams are outlasted by a watch that had one: its place may still be taken by itself", async () => {
    const feed = new ScriptedFeed([[1, cut], ...Array(20).fill([crowded]), [2]]);
    const watch = feed.client.watchStockChanges();
    expect(await read(watch, 2)).toEqual([1, 2]);
    await watch.return();
  });
});

describe("a stall", () => {
  it("of 45 s is a loss, and the connection is let go", async () => {
    const feed = new ScriptedFeed([[1, "silence"], [2]]);
    const watch = feed.client.watchStockChanges();
    expect(await read(watch, 2)).toEqual([1, 2]);
    expect(feed.timing.sleptMs).toEqual([45_000, 150]);
    expect(feed.ended).toEqual([true, false]);
    await watch.return();
  });

  it("is one before the first answer, too", async () => {
    const feed = new ScriptedFeed([["silence"], [1]]);
    const watch = feed.client.watchStockChanges();
    expect(await read(watch, 1)).toEqual([1]);
    expect(feed.timing.now()).toBe(45_150);
    await watch.return();
  });

  it.each([
    ["back", 3_600_000],
    ["forward", -3_600_000],
  ])("is noticed in time where the clock is set %s", async (_title, clockBackMs) => {
    const feed = new ScriptedFeed([[1, { silentMs: 10_000 }, { clockBackMs }, "silence"], [2]]);
    const watch = feed.client.watchStockChanges();
    expect(await read(watch, 2)).toEqual([1, 2]);
    expect(feed.timing.elapsed()).toBe(45_150);
    await watch.return();
  });

  it("is none while heartbeats come", async () => {
    const beats = Array.from({ length: 40 }, () => [{ silentMs: 44_000 }, { heartbeat: cursorOf(1) }]).flat();
    const feed = new ScriptedFeed([[1, ...beats, 2]]);
    const watch = feed.client.watchStockChanges();
    expect(await read(watch, 2)).toEqual([1, 2]);
    expect(feed.attempts).toBe(1);
    await watch.return();
  });

  it("is none while the reader takes its time", async () => {
    const feed = new ScriptedFeed([[1, { silentMs: 40_000 }, 2, 3]]);
    const watch = feed.client.watchStockChanges();
    expect(await read(watch, 1)).toEqual([1]);
    await feed.timing.sleep(3_600_000);
    expect(await read(watch, 2)).toEqual([2, 3]);
    expect(feed.attempts).toBe(1);
    await watch.return();
  });
});

describe("leaving", () => {
  it("by return() ends a watch that waits, and its connection", async () => {
    const feed = new ScriptedFeed([[1]]);
    const watch = feed.client.watchStockChanges();
    await read(watch, 1);
    const waiting = watch.next();
    expect(await watch.return()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    await expect.poll(() => feed.ended).toEqual([true]);
  });

  it("the loop ends the connection", async () => {
    const feed = new ScriptedFeed([[1, 2]]);
    for await (const { revision } of feed.client.watchStockChanges()) {
      expect(revision).toBe(1n);
      break;
    }
    await expect.poll(() => feed.ended).toEqual([true]);
  });

  it("the loop over the stream itself ends its connection", async () => {
    const feed = new ScriptedFeed([[1, 2]]);
    for await (const { change } of feed.client.inventory.watchStockChanges({})) {
      expect(change?.revision).toBe(1n);
      break;
    }
    await expect.poll(() => feed.ended).toEqual([true]);
  });

  it("the stream itself before the first message opens no connection", async () => {
    const feed = new ScriptedFeed([[1], [1]]);
    const stream = feed.client.inventory.watchStockChanges({})[Symbol.asyncIterator]();
    await stream.return?.();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    // A connection of the stream would have been opened before that of this watch.
    await read(feed.client.watchStockChanges(), 1);
    expect(feed.attempts).toBe(1);
  });

  it("by the caller's signal ends the stream itself with the signal's reason", async () => {
    const controller = new AbortController();
    const feed = new ScriptedFeed([[1, "silence"]]);
    const stream = feed.client.inventory.watchStockChanges({}, { signal: controller.signal })[Symbol.asyncIterator]();
    await stream.next();
    const waiting = stream.next();
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toMatchObject({ code: Code.Canceled, rawMessage: "enough" });
  });

  it("before the first change opens no connection", async () => {
    const feed = new ScriptedFeed([[1]]);
    const watch = feed.client.watchStockChanges();
    await watch.return();
    expect(await read(watch, 1)).toEqual(["done"]);
    expect(feed.attempts).toBe(0);
  });

  it.each<[title: string, scripts: Script[]]>([
    ["waits for a change", [[1, "silence"]]],
    ["waits for the next attempt", [[1, overLimit(59)]]],
  ])("by its signal fails with canceled where it %s", async (_title, scripts) => {
    const controller = new AbortController();
    const timing = { now: Date.now, random: Math.random, sleep: forEver };
    const feed = new ScriptedFeed(scripts, { timing });
    const watch = feed.client.watchStockChanges({ signal: controller.signal });
    await read(watch, 1);
    const waiting = watch.next();
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toMatchObject({ code: Code.Canceled, rawMessage: "enough" });
    expect(await read(watch, 1)).toEqual(["done"]);
  });

  it("by a signal that has aborted opens no connection", async () => {
    const feed = new ScriptedFeed([[1]]);
    const [error] = await read(feed.client.watchStockChanges({ signal: AbortSignal.abort() }), 1);
    expect(error).toMatchObject({ code: Code.Canceled });
    expect(feed.attempts).toBe(0);
  });
});

describe("its callbacks", () => {
  it("tell of each connection, and of each loss", async () => {
    const events: unknown[] = [];
    const feed = new ScriptedFeed([[1, stopping], refused, [2]]);
    const watch = feed.client.watchStockChanges({
      onOpen: () => events.push("open"),
      onLost: (error) => events.push((error as ConnectError).rawMessage),
    });
    await read(watch, 2);
    expect(events).toEqual(["open", "no", "connect ECONNREFUSED", "open"]);
    await watch.return();
  });

  it.each(["onOpen", "onLost"])("end it by what %s throws", async (name) => {
    const mistake = new Error("my own mistake");
    const fail = () => {
      throw mistake;
    };
    const told = await read(new ScriptedFeed([[1, cut]]).client.watchStockChanges({ [name]: fail }), 2);
    expect((told.at(-1) as Error).message).toContain("my own mistake");
  });
});

/** Ends with its signal only. */
function forEver(_delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
