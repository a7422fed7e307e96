import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { newProgress, type PauseReason, type Webhook } from "../../src/domain/webhook.ts";
import { WebhookDispatcher } from "../../src/webhooks/dispatcher.ts";
import { type Post, type PostAnswer, PostTimeoutError } from "../../src/webhooks/post.ts";
import { SecretCipher } from "../../src/webhooks/secret-cipher.ts";
import type { WebhookWorker } from "../../src/webhooks/worker.ts";
import { MemoryData, MemoryStore } from "../storage/memory-store.ts";
import { createContext, createPet, createWebhook, setStock } from "../storage/samples.ts";
import { VirtualTime } from "./virtual-time.ts";

const startMs = 1_700_000_000_000;
const [second, minute, hour] = [1_000, 60_000, 3_600_000];

/** What a receiver was sent. */
interface Received {
  readonly id: string;
  readonly atMs: number;
  readonly revisions: readonly bigint[];
}

type Behave = (post: Post) => Promise<PostAnswer>;

const well: Behave = async () => ({ status: 204, retryAfter: undefined });

let data: MemoryData;
let store: MemoryStore;
let time: VirtualTime;
let received: Received[];
let pauses: PauseReason[];
let behave: Behave;
let reload: () => void;
let dispatcher: WebhookDispatcher | undefined;

beforeEach(async () => {
  data = new MemoryData();
  store = new MemoryStore(data);
  time = new VirtualTime(startMs);
  received = [];
  pauses = [];
  behave = well;
  await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] }, startMs);
});

afterEach(() => dispatcher?.close());

function start({
  keptSinceMs = (): number => 0,
  random = 0,
  secrets = new SecretCipher(undefined),
  report = (reason: unknown): void => {
    throw reason;
  },
} = {}): void {
  dispatcher = new WebhookDispatcher({
    store,
    history: store,
    async send(post) {
      const { data: body } = JSON.parse(post.body);
      const revisions = body.changes.map(({ revision }: { revision: string }) => BigInt(revision));
      received.push({ id: post.headers["webhook-id"] ?? "", atMs: time.clock(), revisions });
      return await behave(post);
    },
    secrets,
    allowPrivate: true,
    clock: time.clock,
    write: ({ revision }) => JSON.stringify({ revision: String(revision) }),
    keptSinceMs,
    observer: { attempted() {}, paused: (_webhook, reason) => pauses.push(reason), storeFailed() {} },
    onStockChanged() {},
    onWebhooksChanged(listener) {
      reload = listener;
      listener();
    },
    report,
    wait: time.wait,
    random: () => random,
  });
}

async function change(count: number, petId = 1n): Promise<void> {
  for (let quantity = 1; quantity <= count; quantity += 1) {
    await setStock(store, petId, BigInt(quantity));
  }
}

/** The waits between attempts, in whole seconds. */
function waits(): number[] {
  return received.slice(1).map(({ atMs }, index) => Math.round((atMs - (received[index]?.atMs ?? 0)) / second));
}

describe("deliveries", () => {
  it("have up to 100 changes each, in order, each once", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    await change(250);
    start();
    await time.settle();
    expect(received.map(({ revisions }) => revisions.length)).toEqual([100, 100, 50]);
    await change(1);
    await time.settle();
    const all = received.flatMap(({ revisions }) => revisions);
    expect(all).toEqual(Array.from({ length: 251 }, (_, index) => BigInt(index + 3)));
    expect(new Set(received.map(({ id }) => id)).size).toBe(4);
  });

  it.each([
    ["a former state", undefined],
    ["a backup", "ba9876543210"],
  ])("have all that is new in a store that was put back to %s", async (_, lineage) => {
    const filter = { petIds: [2n], crossing: undefined };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    const former = data.webhooks.get("whk_a") as Webhook;
    start();
    await change(4);
    await time.settle();
    data.webhooks.set("whk_a", former);
    data.history = data.history.filter(({ revision }) => revision <= 3n);
    Object.assign(data, { lineage: lineage ?? data.lineage });
    await setStock(store, 2n, 9n);
    if (lineage !== undefined) {
      await change(4);
    }
    await time.settle();
    expect(received.map(({ revisions }) => revisions)).toEqual([[4n]]);
  });

  it("have nothing of a history that is put back while it is read", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    await change(2);
    const read = store.listChanges.bind(store);
    store.listChanges = async (query) => {
      store.listChanges = read;
      const page = await read(query);
      data.history = data.history.filter(({ revision }) => revision <= 2n);
      Object.assign(data, { lineage: "ba9876543210" });
      await setStock(store, 2n, 9n);
      return page;
    };
    start();
    await time.settle();
    expect(received.map(({ revisions }) => revisions)).toEqual([[3n]]);
  });

  it("have the changes that the filter selects, and no others", async () => {
    const filter = { petIds: [2n], crossing: 5n };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    start();
    await setStock(store, 2n, 9n);
    await setStock(store, 1n, 1n);
    await setStock(store, 2n, 4n);
    await setStock(store, 2n, 3n);
    await time.settle();
    expect(received.map(({ revisions }) => revisions)).toEqual([[5n]]);
  });

  it("of a webhook that fails delay no other", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", url: "http://bad.example/" }));
    await store.createWebhook(createWebhook({ id: "whk_b", url: "http://good.example/" }));
    behave = ({ url }) => (url.hostname === "bad.example" ? new Promise(() => {}) : well({} as Post));
    start();
    await change(3);
    await time.settle();
    const ofGood = received.filter(({ id }) => id.startsWith("msg_b"));
    expect(ofGood.flatMap(({ revisions }) => revisions)).toEqual([1n, 2n, 3n, 4n, 5n]);
    dispatcher = undefined;
  });
});

describe("with many webhooks", () => {
  /** Receivers of which those at `bad.example` hang. */
  const hangingAt = (badHost: string): Behave => {
    return async (post) => {
      if (post.url.hostname !== badHost) {
        return well(post);
      }
      await time.wait(10 * second, post.signal);
      throw new PostTimeoutError();
    };
  };

  async function createHanging(count: number): Promise<void> {
    for (let number = 1; number <= count; number += 1) {
      const webhook = { id: `whk_bad${number}`, url: "http://bad.example/", progress: newProgress(2n) };
      await store.createWebhook(createWebhook(webhook));
    }
  }

  const good = (id: string) => createWebhook({ id, url: "http://good.example/", progress: newProgress(2n) });

  it("those that hang delay no other, once they have failed", async () => {
    await createHanging(200);
    await store.createWebhook(good("whk_good"));
    behave = hangingAt("bad.example");
    start();
    await change(1);
    await time.pass(minute);
    for (let times = 0; times < 5; times += 1) {
      const changedAtMs = time.clock();
      received = [];
      await change(1);
      await time.settle();
      expect(received.filter(({ id }) => id.startsWith("msg_good"))).toMatchObject([{ atMs: changedAtMs }]);
      await time.pass(7 * second);
    }
  });

  it("those that succeed slowly delay no other, once they were slow", async () => {
    await createHanging(200);
    await store.createWebhook(good("whk_good"));
    behave = async (post) => {
      if (post.url.hostname === "bad.example") {
        await time.wait(9 * second, post.signal);
      }
      return well(post);
    };
    start();
    await change(1);
    await time.pass(minute);
    for (let times = 0; times < 5; times += 1) {
      const changedAtMs = time.clock();
      received = [];
      await change(1);
      await time.settle();
      expect(received.filter(({ id }) => id.startsWith("msg_good"))).toMatchObject([{ atMs: changedAtMs }]);
      await time.pass(7 * second);
    }
  });

  it("a slow one that succeeds does not wait for those that hang", async () => {
    await createHanging(400);
    await store.createWebhook(good("whk_good"));
    behave = async (post) => {
      if (post.url.hostname === "good.example") {
        await time.wait(1.5 * second, post.signal);
      }
      return hangingAt("bad.example")(post);
    };
    start();
    await change(1);
    await time.pass(2 * minute);
    for (let times = 0; times < 5; times += 1) {
      const changedAtMs = time.clock();
      received = [];
      await change(1);
      await time.pass(10 * second);
      expect(received.find(({ id }) => id.startsWith("msg_good"))?.atMs).toBeLessThan(changedAtMs + 2 * second);
    }
  });

  it("one that is created does not wait for the end of one that is deleted", async () => {
    await createHanging(100);
    behave = hangingAt("bad.example");
    start();
    await change(1);
    await time.settle();
    await store.deleteWebhook("whk_bad100");
    reload();
    await time.settle();
    await store.createWebhook(good("whk_good"));
    reload();
    await time.settle();
    expect([...(dispatcher?.workers ?? [])].map(({ webhook }) => webhook.id)).toContain("whk_good");
    await time.pass(10 * second);
  });

  it("they are loaded once more, however often they change during a slow load", async () => {
    await store.createWebhook(good("whk_a"));
    start();
    await time.settle();
    const claim = store.claimWebhooks.bind(store);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let claims = 0;
    store.claimWebhooks = async () => {
      claims += 1;
      await answered;
      return claim();
    };
    for (let times = 0; times < 100; times += 1) {
      reload();
      await setImmediate();
    }
    await store.createWebhook(good("whk_b"));
    answer();
    await time.settle();
    expect(claims).toBe(2);
    expect([...(dispatcher?.workers ?? [])].map(({ webhook }) => webhook.id)).toEqual(["whk_a", "whk_b"]);
  });

  it("one that is paused while it waits for its turn is not delivered to", async () => {
    await createHanging(65);
    behave = hangingAt("bad.example");
    start();
    await change(1);
    await time.settle();
    await store.pauseWebhook("whk_bad65", "operator", startMs);
    reload();
    await time.pass(11 * second);
    expect(received.filter(({ id }) => id.startsWith("msg_bad65_"))).toEqual([]);
  });

  it("each reads the store in a turn of its own, so that calls come in between", async () => {
    for (let number = 1; number <= 50; number += 1) {
      await store.createWebhook(good(`whk_${number}`));
    }
    let reads = 0;
    const read = store.listChanges.bind(store);
    store.listChanges = (query) => {
      reads += 1;
      return read(query);
    };
    start();
    await time.settle();
    reads = 0;
    await change(1);
    const perTurn: number[] = [];
    for (let turn = 0; turn < 200; turn += 1) {
      const before = reads;
      await setImmediate();
      perTurn.push(reads - before);
    }
    expect(reads).toBeGreaterThanOrEqual(100);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2);
  });
});

describe("a receiver that fails", () => {
  const faults: [fault: string, fail: Behave][] = [
    ["answers 500", async () => ({ status: 500, retryAfter: undefined })],
    ["redirects", async () => ({ status: 302, retryAfter: undefined })],
    ["hangs", () => Promise.reject(new PostTimeoutError())],
    ["resets", () => Promise.reject(Object.assign(new Error("reset"), { code: "ECONNRESET" }))],
    ["answers garbage", () => Promise.reject(Object.assign(new Error("parse"), { code: "HPE_INVALID_CONSTANT" }))],
  ];

  it.each(faults)("that %s for an hour gets the same changes again and again, then all others", async (_, fail) => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    behave = fail;
    start();
    await change(3);
    await time.pass(hour);
    const attempts = received.length;
    expect(attempts).toBeGreaterThan(8);
    expect(attempts).toBeLessThan(15);
    expect(new Set(received.map(({ id }) => id)).size).toBe(1);
    await change(2);
    behave = well;
    await time.pass(hour);
    const later = received.slice(attempts);
    expect(later.map(({ revisions }) => revisions)).toEqual([received[0]?.revisions, expect.anything()]);
    expect(later.flatMap(({ revisions }) => revisions)).toEqual([3n, 4n, 5n, 6n, 7n]);
    const [last] = await store.listAttempts("whk_a", 1);
    expect(last).toMatchObject({ status: 204, fault: undefined });
  });

  it("that fails gets the same changes again, even if the store now finds them by several searches", async () => {
    const filter = { petIds: [1n], crossing: undefined };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    await change(10, 2n);
    await change(2);
    behave = async () => ({ status: 500, retryAfter: undefined });
    start();
    await time.settle();
    searchAtMost(3n);
    behave = well;
    await time.pass(hour);
    expect(received.map(({ revisions }) => revisions)).toEqual([
      [13n, 14n],
      [13n, 14n],
    ]);
    expect(received[1]?.id).toBe(received[0]?.id);
  });

  /** Each search of the store ends after so many revisions. */
  function searchAtMost(count: bigint): void {
    const read = store.listChanges.bind(store);
    store.listChanges = async (query) => {
      const end = query.after + count;
      const isCut = query.before === undefined || query.before > end + 1n;
      const page = await read(isCut ? { ...query, before: end + 1n } : query);
      return isCut ? { ...page, searchedTo: end } : page;
    };
  }

  it("that fails in all ways in turn, and is well now and then, misses nothing and gets nothing out of order", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    const answered: bigint[] = [];
    const fails = faults.map(([, fail]) => fail);
    behave = (post) => {
      const { revisions } = received.at(-1) as Received;
      const fail = fails[received.length % (fails.length + 1)];
      if (fail === undefined) {
        answered.push(...revisions);
      }
      return (fail ?? well)(post);
    };
    start();
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await change(3);
      await time.pass(minute);
    }
    behave = async (post) => {
      answered.push(...(received.at(-1) as Received).revisions);
      return well(post);
    };
    await time.pass(hour);
    expect(answered).toEqual(Array.from({ length: 180 }, (_, index) => BigInt(index + 3)));
    const byId = Map.groupBy(received, ({ id }) => id);
    expect(byId.size).toBeGreaterThan(1);
    for (const attempts of byId.values()) {
      expect(new Set(attempts.map(({ revisions }) => revisions.join(" "))).size).toBe(1);
    }
  });

  it("is waited for from 5 s on, twice as long each time, to 40 minutes", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a" }));
    behave = async () => ({ status: 500, retryAfter: undefined });
    start();
    await time.pass(8 * hour);
    expect(waits().slice(0, 13)).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_400, 2_400, 2_400, 2_400]);
  });

  it("is waited for longer by chance, the first time too, and an hour at most", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a" }));
    behave = async () => ({ status: 500, retryAfter: undefined });
    start({ random: 0.999_999 });
    await time.pass(8 * hour);
    expect(received.slice(0, 2).map(({ atMs }) => atMs - startMs)).toEqual([0, 7_500]);
    expect(waits().slice(1, 12)).toEqual([15, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
  });

  it.each([
    ["600", 600],
    [new Date(startMs + 900 * second).toUTCString(), 900],
    ["86400", 3_600],
    ["2147483648", 3_600],
    ["0", 5],
    ["-5", 5],
    ["soon", 5],
  ])("may ask for a wait, of an hour at most: Retry-After: %s", async (retryAfter, expected) => {
    await store.createWebhook(createWebhook({ id: "whk_a" }));
    behave = async () => ({ status: 429, retryAfter: received.length === 1 ? retryAfter : undefined });
    start();
    await time.pass(2 * hour);
    expect(waits()[0]).toBe(expected);
  });

  it("is paused after 3 days, and goes on where it was when it is resumed", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a" }));
    behave = async () => ({ status: 500, retryAfter: undefined });
    start();
    await time.pass(80 * hour);
    expect(pauses).toEqual(["failures"]);
    expect((await store.getWebhook("whk_a"))?.paused?.reason).toBe("failures");
    const attempts = received.length;
    await time.pass(80 * hour);
    expect(received.length).toBe(attempts);
    behave = well;
    await store.resumeWebhook("whk_a", undefined);
    reload();
    await time.settle();
    expect(received.slice(attempts).map(({ id }) => id)).toEqual([received[0]?.id]);
  });

  it("is not paused for the days in which no server ran", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a" }));
    behave = async () => ({ status: 500, retryAfter: undefined });
    start();
    await time.settle();
    await dispatcher?.close();
    await time.pass(80 * hour);
    expect(received.length).toBe(1);
    start();
    await time.pass(30 * hour);
    expect([received.length > 40, pauses]).toEqual([true, []]);
    await time.pass(50 * hour);
    expect(pauses).toEqual(["failures"]);
  });

  it("is paused after 3 days where it asks for the longest wait each time", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a" }));
    behave = async () => ({ status: 503, retryAfter: "3600" });
    start();
    await time.pass(72 * hour - minute);
    expect(pauses).toEqual([]);
    await time.pass(2 * minute);
    expect(pauses).toEqual(["failures"]);
    const lag = [...(dispatcher?.workers ?? [])].map(({ pendingSinceMs }) => pendingSinceMs);
    expect(lag, "it waits for nothing any more").toEqual([undefined]);
  });
});

describe("a webhook", () => {
  it("that is paused, resumed or deleted by a command obeys at once", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    start();
    await time.settle();
    await store.pauseWebhook("whk_a", "operator", startMs);
    reload();
    await time.settle();
    await change(2);
    await time.pass(hour);
    expect(received).toEqual([]);
    await store.resumeWebhook("whk_a", undefined);
    reload();
    await time.settle();
    expect(received.map(({ revisions }) => revisions)).toEqual([[3n, 4n]]);
    await store.deleteWebhook("whk_a");
    reload();
    await time.settle();
    await change(1);
    await time.pass(hour);
    expect(received.length).toBe(1);
  });

  it("that is paused during a claim, which answers with its former state, is not delivered to", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    await change(1);
    const claim = store.claimWebhooks.bind(store);
    const [first, next] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const answers = [first.promise, next.promise];
    store.claimWebhooks = async () => {
      const webhooks = await claim();
      await answers.shift();
      return webhooks;
    };
    start();
    await time.settle();
    await store.pauseWebhook("whk_a", "operator", startMs);
    reload();
    first.resolve();
    await time.settle();
    next.resolve();
    await change(1);
    await time.settle();
    expect(received).toEqual([]);
  });

  it.each([
    ["fails", 500, undefined],
    ["fails", 500, 4n],
    ["succeeds", 204, 4n],
  ])("that is resumed while an attempt is under way, which then %s with %s, goes on from %s", async (...args) => {
    const [, status, position] = args;
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    const underWay = Promise.withResolvers<PostAnswer>();
    behave = () => (received.length === 2 ? underWay.promise : Promise.resolve({ status: 500, retryAfter: undefined }));
    await change(3);
    start();
    await time.pass(10 * second);
    expect(received.length).toBe(2);
    // The server has not heard of the command yet.
    const resumed = await store.resumeWebhook("whk_a", position);
    behave = () => new Promise(() => {});
    underWay.resolve({ status, retryAfter: undefined });
    await time.pass(10 * second);
    expect((await store.getWebhook("whk_a"))?.progress).toMatchObject({ ...resumed?.progress, deliveringUpTo: 5n });
    expect(received[2]?.revisions).toEqual(position === undefined ? received[0]?.revisions : [5n]);
    dispatcher = undefined;
  });

  it("that is resumed during an attempt, which then succeeds, is not delivered the same again", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    const underWay = Promise.withResolvers<PostAnswer>();
    behave = () => (received.length === 2 ? underWay.promise : Promise.resolve({ status: 500, retryAfter: undefined }));
    await change(3);
    start();
    await time.pass(10 * second);
    await store.resumeWebhook("whk_a", undefined);
    reload();
    underWay.resolve({ status: 204, retryAfter: undefined });
    await time.pass(hour);
    expect(received).toHaveLength(2);
    expect((await store.getWebhook("whk_a"))?.progress).toEqual(newProgress(5n));
  });

  it("whose next change is no longer kept is paused, and skips nothing silently", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a" }));
    await change(3);
    start({ keptSinceMs: () => startMs + 1 });
    await time.settle();
    expect([received, pauses]).toEqual([[], ["history"]]);
  });

  it.each([
    ["paused by an operator", () => store.pauseWebhook("whk_a", "operator", startMs), "operator"],
    ["deleted", () => store.deleteWebhook("whk_a"), undefined],
  ])("whose next change is no longer kept is not paused if it has just been %s", async (_how, doFirst, reason) => {
    await store.createWebhook(createWebhook({ id: "whk_a" }));
    await change(3);
    const historyBounds = store.historyBounds.bind(store);
    store.historyBounds = async (keptSinceMs) => {
      await doFirst();
      return await historyBounds(keptSinceMs);
    };
    start({ keptSinceMs: () => startMs + 1 });
    await time.settle();
    expect([received, pauses]).toEqual([[], []]);
    expect((await store.getWebhook("whk_a"))?.paused?.reason).toBe(reason);
  });

  it("that is resumed right before it is paused goes on where it was resumed", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    await change(3);
    let sinceMs = startMs + 1;
    const pauseWebhook = store.pauseWebhook.bind(store);
    store.pauseWebhook = async (...args) => {
      sinceMs = 0;
      await store.resumeWebhook("whk_a", 4n);
      return await pauseWebhook(...args);
    };
    start({ keptSinceMs: () => sinceMs });
    await time.pass(minute);
    expect(pauses).toEqual([]);
    expect(received.map(({ revisions }) => revisions)).toEqual([[5n]]);
  });

  it("whose next change is deleted right before it is read is paused, and skips nothing silently", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(1n) }));
    await change(3);
    const read = store.listChanges.bind(store);
    store.listChanges = (query) => {
      data.history = data.history.filter(({ revision }) => revision > 2n);
      return read(query);
    };
    start();
    await time.settle();
    expect([received, pauses]).toEqual([[], ["history"]]);
  });

  it("is delivered the same after a restart in mid-delivery, with the same id", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    behave = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    start();
    await change(2);
    await time.settle();
    await dispatcher?.close();
    const [first] = received;
    await change(5, 2n);
    behave = well;
    store = new MemoryStore(data);
    start();
    await time.settle();
    expect(received[1]).toEqual(first);
    expect(received.flatMap(({ revisions }) => revisions).slice(first?.revisions.length)).toEqual(
      Array.from({ length: 7 }, (_, index) => BigInt(index + 3)),
    );
  });

  it("whose next attempt is years away, as the clock was set back, is tried now", async () => {
    const progress = {
      ...newProgress(2n),
      failures: 3,
      failingSinceMs: startMs,
      nextAttemptAtMs: startMs + 9_000 * hour,
    };
    const webhook = createWebhook({ id: "whk_a" });
    await store.createWebhook(webhook);
    await store.saveProgress("whk_a", { from: webhook.progress, to: progress });
    await change(1);
    start();
    await time.settle();
    expect(received.map(({ revisions }) => revisions)).toEqual([[3n]]);
  });

  it("that waits to try again tells its lag after a restart", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
    behave = async () => ({ status: 500, retryAfter: undefined });
    start();
    await change(1);
    const lag = () => [...(dispatcher?.workers ?? [])].map(({ pendingSinceMs }) => pendingSinceMs);
    await time.pass(hour);
    const told = lag();
    expect(told).toEqual([expect.any(Number)]);
    await dispatcher?.close();
    const attempts = received.length;
    start();
    await time.settle();
    expect([lag(), received.length]).toEqual([told, attempts]);
  });

  it("that selects little is not behind what it does not select, after a restart either", async () => {
    const filter = { petIds: [2n], crossing: undefined };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    start();
    await change(3);
    await time.settle();
    await change(2);
    await time.pass(2 * minute);
    expect((await store.getWebhook("whk_a"))?.progress).toEqual(newProgress(7n));
    await dispatcher?.close();
    // What it did not select is too old by now.
    start({ keptSinceMs: () => startMs + hour });
    await time.settle();
    expect(pauses).toEqual([]);
  });

  it("that selects little is not behind what it has searched, when any webhook changes", async () => {
    const filter = { petIds: [2n], crossing: undefined };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    let keptSinceMs = 0;
    start({ keptSinceMs: () => keptSinceMs });
    await change(1);
    await time.settle();
    await change(2);
    await time.settle();
    expect((await store.getWebhook("whk_a"))?.progress, "it has not saved the last search").toEqual(newProgress(3n));
    keptSinceMs = startMs + 1;
    await store.createWebhook(createWebhook({ id: "whk_b", progress: newProgress(5n) }));
    reload();
    await time.settle();
    expect(pauses).toEqual([]);
  });

  it("that selects little is not behind what it had searched before a delivery, after a restart either", async () => {
    const filter = { petIds: [2n], crossing: undefined };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    behave = async () => ({ status: 500, retryAfter: undefined });
    start();
    await change(1);
    await time.settle();
    await change(2);
    await time.settle();
    await store.changeStock({ kind: "set", petId: 2n, quantity: 1n }, createContext({ nowMs: startMs + 1 }));
    await time.settle();
    await dispatcher?.close();
    // What it did not select is too old by now.
    start({ keptSinceMs: () => startMs + 1 });
    await time.pass(minute);
    expect(pauses).toEqual([]);
    expect(received.slice(0, 2).map(({ revisions }) => revisions)).toEqual([[6n], [6n]]);
  });

  it("that selects little goes back to the position that a command has set", async () => {
    const filter = { petIds: [2n], crossing: undefined };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    start();
    await setStock(store, 2n, 1n);
    await change(3);
    await time.settle();
    await store.resumeWebhook("whk_a", 2n);
    reload();
    await time.settle();
    expect(received.map(({ revisions }) => revisions)).toEqual([[3n], [3n]]);
  });

  it("that selects little saves its search before a short history ends", async () => {
    const filter = { petIds: [2n], crossing: undefined };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    start({ keptSinceMs: () => time.clock() - 8 * second });
    await change(1);
    await time.settle();
    await change(2);
    await time.pass(2 * second);
    expect((await store.getWebhook("whk_a"))?.progress).toEqual(newProgress(5n));
  });

  it("that selects little is not behind after the clock was set back", async () => {
    const filter = { petIds: [2n], crossing: undefined };
    await store.createWebhook(createWebhook({ id: "whk_a", filter, progress: newProgress(2n) }));
    start();
    await change(1);
    await time.settle();
    time.setBack(24 * hour);
    for (const revision of [4n, 5n]) {
      await change(1);
      await time.pass(2 * minute);
      expect((await store.getWebhook("whk_a"))?.progress).toEqual(newProgress(revision));
    }
  });

  it("whose former secret another key has encrypted is signed by the present one", async () => {
    const secrets = new SecretCipher(randomBytes(32));
    const former = new SecretCipher(randomBytes(32)).encrypt("whsec_Zmlyc3Q=", "whk_a");
    await store.createWebhook(createWebhook({ id: "whk_a", secret: former, progress: newProgress(2n) }));
    await store.rotateWebhookSecret("whk_a", secrets.encrypt("whsec_c2Vjb25k", "whk_a"), startMs + 24 * hour);
    start({ secrets });
    await change(1);
    await time.settle();
    expect(received.map(({ revisions }) => revisions)).toEqual([[3n]]);
  });

  it("is signed by both secrets for a day after a rotation", async () => {
    await store.createWebhook(createWebhook({ id: "whk_a", secret: "whsec_Zmlyc3Q=", progress: newProgress(2n) }));
    await store.rotateWebhookSecret("whk_a", "whsec_c2Vjb25k", startMs + 24 * hour);
    const signatures: number[] = [];
    behave = async ({ headers }) => {
      signatures.push((headers["webhook-signature"] ?? "").split(" ").length);
      return { status: 200, retryAfter: undefined };
    };
    start();
    await change(1);
    await time.settle();
    await time.pass(24 * hour);
    await change(1);
    await time.settle();
    expect(signatures).toEqual([2, 1]);
  });
});

describe("a webhook of a store that servers share", () => {
  /** A store whose claims last for half a second, while `claimed` has their webhooks. */
  class SharedStore extends MemoryStore {
    override webhookClaimMs = 500;
    claimed: readonly string[] = ["whk_a"];
    isAway = false;
    /** What claims wait for. */
    answers: Promise<void> = Promise.resolve();

    override async claimWebhooks(): Promise<Webhook[]> {
      await this.answers;
      if (this.isAway) {
        throw new Error("the database is away");
      }
      return (await this.listWebhooks()).filter(({ id }) => this.claimed.includes(id));
    }

    override async releaseWebhooks(): Promise<void> {
      this.claimed = [];
    }
  }

  let shared: SharedStore;

  beforeEach(async () => {
    shared = new SharedStore(data);
    store = shared;
    await store.createWebhook(createWebhook({ id: "whk_a", progress: newProgress(2n) }));
  });

  function namesOf(workers: Iterable<WebhookWorker> = []): string[] {
    return [...workers].map(({ webhook }) => webhook.id);
  }

  it("is delivered to by the server that has claimed it, and by no other", async () => {
    shared.claimed = [];
    start();
    await change(1);
    await time.settle();
    expect(received).toEqual([]);
    shared.claimed = ["whk_a"];
    await expect.poll(() => received.map(({ revisions }) => revisions)).toEqual([[3n]]);
    shared.claimed = [];
    await expect.poll(() => namesOf(dispatcher?.workers)).toEqual([]);
    await change(1);
    await time.settle();
    expect(received).toHaveLength(1);
  });

  it("is listed in the order of creation, whenever it was claimed", async () => {
    await store.createWebhook(createWebhook({ id: "whk_b" }));
    await store.createWebhook(createWebhook({ id: "whk_c" }));
    shared.claimed = ["whk_b"];
    // No claim runs out meanwhile.
    shared.webhookClaimMs = Infinity;
    start();
    await expect.poll(() => namesOf(dispatcher?.workers)).toEqual(["whk_b"]);
    const [worker] = dispatcher?.workers ?? [];
    shared.claimed = ["whk_a", "whk_b", "whk_c"];
    reload();
    await expect.poll(() => namesOf(dispatcher?.workers)).toEqual(["whk_a", "whk_b", "whk_c"]);
    expect([...(dispatcher?.workers ?? [])][1], "it is not started again").toBe(worker);
  });

  it("is no longer delivered to when the claim cannot be renewed, and again once it can", async () => {
    start({ report() {} });
    await time.settle();
    shared.isAway = true;
    await expect.poll(() => namesOf(dispatcher?.workers)).toEqual([]);
    await change(1);
    await time.settle();
    expect(received).toEqual([]);
    shared.isAway = false;
    await expect.poll(() => received.map(({ revisions }) => revisions)).toEqual([[3n]]);
  });

  it("is delivered to although the first claim failed, where no claim is ever renewed", async () => {
    shared.webhookClaimMs = Infinity;
    shared.isAway = true;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const reports: unknown[] = [];
    start({ report: (reason) => reports.push(reason) });
    await change(1);
    await time.settle();
    vi.advanceTimersByTime(5 * second);
    await time.settle();
    expect(reports).toHaveLength(2);
    shared.isAway = false;
    vi.advanceTimersByTime(5 * second);
    await time.settle();
    expect(received.map(({ revisions }) => revisions)).toEqual([[3n]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is not delivered to after a pause, although the first claim after it failed", async () => {
    start({ report() {} });
    await time.settle();
    shared.isAway = true;
    await store.pauseWebhook("whk_a", "operator", startMs);
    reload();
    await time.settle();
    shared.isAway = false;
    await expect
      .poll(() => [...(dispatcher?.workers ?? [])].map(({ webhook }) => webhook.paused?.reason))
      .toEqual(["operator"]);
    await change(1);
    await time.settle();
    expect(received).toEqual([]);
  });

  it("is no longer delivered to at the end, although a claim is under way", async () => {
    // No claim runs out meanwhile.
    shared.webhookClaimMs = Infinity;
    const aborted = Promise.withResolvers<void>();
    behave = ({ signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(new Error("aborted"));
        }),
      );
    start();
    await change(1);
    await expect.poll(() => received).toHaveLength(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    shared.answers = promise;
    reload();
    await time.settle();
    const closed = dispatcher?.close();
    await aborted.promise;
    resolve();
    await closed;
    expect([namesOf(dispatcher?.workers), shared.claimed]).toEqual([[], []]);
  });

  it("is left to others at the end", async () => {
    start();
    await time.settle();
    await dispatcher?.close();
    expect(shared.claimed).toEqual([]);
  });
});
