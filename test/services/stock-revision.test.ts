import { afterEach, expect, it, vi } from "vitest";
import type { ChangePage, ChangeQuery, StockChange } from "../../src/domain/history.ts";
import type { CommittedChanges } from "../../src/domain/store.ts";
import { StockRevision } from "../../src/services/stock-revision.ts";

/** A history that can be appended to, by this server and by others; and what a listener hears of it. */
class TestHistory {
  readonly heard: string[] = [];
  lineage = "0123456789ab";
  changes: { petId: bigint; isNew: boolean }[] = [];
  readonly revision: StockRevision;
  readonly stopping = new AbortController();
  /** Reads so far. */
  reads = 0;
  /** Waited for in each read, before the store is looked at. */
  beforeRead: () => Promise<void> | void = () => {};
  /** Waited for in each read, when what it gives back is decided. */
  afterRead: () => Promise<void> | void = () => {};
  #tell: (changes: CommittedChanges) => void = () => {};

  constructor(length = 0) {
    this.changes.push(...Array.from({ length }, () => ({ petId: 1n, isNew: true })));
    this.revision = new StockRevision(
      {
        onChanges: (listener) => {
          this.#tell = listener;
        },
        historyBounds: () => this.#read(() => ({ lineage: this.lineage, head: this.head, oldest: 1n })),
        listChanges: (query) => this.#read(() => this.#list(query)),
      },
      {
        changed: (petId, revision) => this.heard.push(`${revision}: ${petId}`),
        allChanged: (revision) => this.heard.push(`${revision}: all`),
      },
      { isShared: false, stopping: this.stopping.signal },
    );
    this.revision.onRestart((revision) => this.heard.push(`${revision}: restart`));
  }

  get head(): bigint {
    return BigInt(this.changes.length);
  }

  own(...petIds: readonly bigint[]): void {
    this.others(...petIds);
    this.#tell({ lineage: this.lineage, revision: this.head, petIds });
  }

  others(...petIds: readonly bigint[]): void {
    this.changes.push(...petIds.map((petId) => ({ petId, isNew: false })));
  }

  async settle(): Promise<bigint> {
    return (await this.revision.caughtUp()).revision;
  }

  async #read<T>(look: () => T): Promise<T> {
    this.reads += 1;
    await this.beforeRead();
    const seen = look();
    await this.afterRead();
    return seen;
  }

  #list({ after, limit }: ChangeQuery): ChangePage {
    const changes = this.changes
      .map(({ petId, isNew }, index) => ({ petId, revision: BigInt(index + 1), before: isNew ? undefined : 0n }))
      .filter(({ revision }) => revision > after);
    return { changes: changes.slice(0, limit) as unknown as StockChange[], searchedTo: undefined };
  }
}

afterEach(() => {
  vi.useRealTimers();
});

it("begins where the history is, of which nothing is known", async () => {
  const history = new TestHistory(5);
  expect(await history.revision.lastKnown()).toEqual({ lineage: "0123456789ab", revision: 5n });
  expect(history.heard).toEqual(["5: all"]);
});

it("asks the store once, and then no more", async () => {
  const history = new TestHistory(5);
  await Promise.all([history.settle(), history.revision.lastKnown()]);
  await history.settle();
  expect(history.reads).toBe(1);
});

it("goes on with what this server commits, at once", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.own(7n, 8n);
  expect((await history.revision.lastKnown()).revision).toBe(7n);
  history.own(7n);
  expect(history.heard.slice(1)).toEqual(["6: 7", "7: 8", "8: 7"]);
  expect(history.reads).toBe(1);
});

it("takes everything for changed where others have written in between", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.others(9n);
  history.own(7n);
  expect(history.heard.slice(1)).toEqual(["7: all"]);
});

it("reads what others have written, when it may have been", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.others(9n, 7n);
  expect((await history.revision.lastKnown()).revision).toBe(5n);
  history.revision.invalidate();
  expect(await history.settle()).toBe(7n);
  expect(history.heard.slice(1)).toEqual(["6: 9", "7: 7"]);
});

it("hears nothing where nobody has written", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.revision.invalidate();
  expect(await history.settle()).toBe(5n);
  expect(history.heard).toHaveLength(1);
});

it("takes everything for changed where there are new pets", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.changes.push({ petId: 9n, isNew: true });
  history.revision.invalidate();
  await history.settle();
  expect(history.heard.slice(1)).toEqual(["6: all"]);
});

it("takes everything for changed where others have written more than it reads", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.others(...Array.from({ length: 1_001 }, () => 9n));
  history.revision.invalidate();
  expect(await history.settle()).toBe(1_006n);
  expect(history.heard.slice(1)).toEqual(["1006: all"]);
});

it("does not go back when this server commits while it reads", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.others(9n);
  history.afterRead = () => {
    history.afterRead = () => {};
    history.own(7n);
  };
  history.revision.invalidate();
  expect(await history.settle()).toBe(7n);
  expect(history.heard.slice(1)).toEqual(["7: all"]);
});

it("tells a change once, though it reads what this server commits", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.others(9n);
  history.beforeRead = () => {
    history.beforeRead = () => {};
    history.others(7n);
  };
  history.revision.invalidate();
  await history.settle();
  history.own(8n);
  expect(history.heard.slice(1)).toEqual(["6: 9", "7: 7", "8: 8"]);
});

it("keeps what this server commits before it knows where the history is", async () => {
  const history = new TestHistory(5);
  history.afterRead = () => {
    history.afterRead = () => {};
    history.own(7n);
  };
  expect(await history.settle()).toBe(6n);
});

it("waits for a reading that has begun after the invalidation", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.afterRead = () => {
    history.afterRead = () => {};
    history.others(9n);
    history.revision.invalidate();
  };
  history.revision.invalidate();
  expect(await history.settle()).toBe(5n);
  expect(await history.settle()).toBe(6n);
});

it("tells no changes of another store that comes into place between the two reads", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.others(9n);
  history.revision.invalidate();
  let reads = 0;
  history.beforeRead = () => {
    reads += 1;
    if (reads === 2) {
      history.lineage = "another00000";
      history.others(8n, 7n);
    }
  };
  expect(await history.settle()).toBe(8n);
  expect(history.heard.slice(1)).toEqual(["8: all", "8: restart"]);
  expect((await history.revision.lastKnown()).lineage).toBe("another00000");
});

it("fails as the store does, and tries again", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.others(9n);
  history.beforeRead = () => {
    throw new Error("the disk failed");
  };
  history.revision.invalidate();
  await expect(history.settle()).rejects.toThrow("the disk failed");
  expect((await history.revision.lastKnown()).revision).toBe(5n);
  history.beforeRead = () => {};
  expect(await history.settle()).toBe(6n);
});

it.each<[when: string, stop: (history: TestHistory) => void, heard: string[]]>([
  ["within a second", () => {}, ["6: 9"]],
  ["no more once the server stops", (history) => history.stopping.abort(), []],
])("tries again by itself after the store has failed: %s", async (_, stop, heard) => {
  vi.useFakeTimers();
  const history = new TestHistory(5);
  await history.settle();
  history.others(9n);
  history.beforeRead = () => {
    throw new Error("the connection was reset");
  };
  history.revision.invalidate();
  await vi.advanceTimersByTimeAsync(1_000);
  history.beforeRead = () => {};
  stop(history);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(history.heard.slice(1)).toEqual(heard);
  const { reads } = history;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(history.reads).toBe(reads);
});

it.each<[what: string, lineage: string, length: number]>([
  ["an older state", "0123456789ab", 3],
  ["an older state of another lineage", "ba9876543210", 3],
  ["another store at the same revision", "ba9876543210", 5],
  ["another store at a later revision", "ba9876543210", 7],
])("begins anew where the store is put back to %s", async (_, lineage, length) => {
  const history = new TestHistory(5);
  await history.settle();
  history.lineage = lineage;
  history.changes = Array.from({ length }, () => ({ petId: 1n, isNew: false }));
  history.revision.invalidate();
  expect(await history.revision.caughtUp()).toEqual({ lineage, revision: BigInt(length) });
  expect(history.heard.slice(1)).toEqual([`${length}: all`, `${length}: restart`]);
  history.own(7n);
  expect(await history.settle()).toBe(BigInt(length + 1));
  expect(history.heard.slice(3)).toEqual([`${length + 1}: 7`]);
});

it("learns of another store from what this server commits into it", async () => {
  const history = new TestHistory(5);
  await history.settle();
  history.lineage = "ba9876543210";
  history.changes.splice(3);
  history.own(7n);
  expect(await history.revision.caughtUp()).toEqual({ lineage: "ba9876543210", revision: 4n });
  expect(history.heard.slice(1)).toEqual(["4: all", "4: restart"]);
});

it("takes everything for changed, also later, where the history may not tell of a change", async () => {
  const history = new TestHistory(5);
  const before = await history.revision.caughtUp();
  expect(await history.revision.caughtUp()).toBe(before);
  history.beforeRead = () => {
    throw new Error("the disk failed");
  };
  history.revision.invalidateAll();
  await expect(history.settle()).rejects.toThrow("the disk failed");
  history.beforeRead = () => {};
  const after = await history.revision.caughtUp();
  expect(after).toEqual(before);
  expect(after).not.toBe(before);
  expect(history.heard.slice(1)).toEqual(["5: all"]);
});
