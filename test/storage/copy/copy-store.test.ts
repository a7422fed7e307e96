import { describe, expect, it } from "vitest";
import {
  type CopiedRow,
  type CopiedTable,
  type CopySource,
  type CopyTarget,
  copyStore,
  type StoreHead,
} from "../../../src/storage/copy.ts";

type Content = Readonly<Record<string, readonly CopiedRow[]>>;

const head: StoreHead = { lineage: "0123456789ab", holdPosition: 7n };
const content: Content = {
  pets: [
    [1n, "Rex", "dogs", ["a", "b"], []],
    [2n, "1", "null", [], ["a,b"]],
  ],
  secrets: [[Uint8Array.of(1, 2), "key_a", null]],
};

function createSource(rows: Content = content): CopySource {
  return {
    shown: "source",
    identity: "1",
    countRows: async () => Object.values(rows).flat().length,
    async *read({ name }: CopiedTable) {
      yield rows[name] ?? [];
    },
    readHead: async () => head,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** A store in memory, in which something may go wrong on the way. */
class MemoryTarget implements CopyTarget {
  readonly shown = "target";
  readonly identity: string | undefined = "2";
  readonly rows: Record<string, CopiedRow[]> = {};
  readonly steps: string[] = [];
  head = head;
  spoil: (rows: readonly CopiedRow[], table: string) => readonly CopiedRow[] = (rows) => rows;

  async begin() {
    this.steps.push("begin");
  }

  async write({ name }: CopiedTable, pieces: AsyncIterable<readonly CopiedRow[]>) {
    for await (const rows of pieces) {
      this.rows[name] = [...(this.rows[name] ?? []), ...this.spoil(rows, name)];
    }
  }

  async finish() {
    this.steps.push("finish");
  }

  async *read({ name }: CopiedTable) {
    for (const row of this.rows[name] ?? []) {
      yield [row];
    }
  }

  async readHead() {
    return this.head;
  }

  async commit() {
    this.steps.push("commit");
  }

  async [Symbol.asyncDispose]() {}
}

describe("a copy", () => {
  it("is committed once all of it is there, and counts the rows", async () => {
    const target = new MemoryTarget();
    const reports: [number, number][] = [];
    const counts = await copyStore(createSource(), target, (done, total) => reports.push([done, total]));
    expect(counts).toMatchObject({ pets: 2, secrets: 1, orders: 0 });
    expect(target.rows).toMatchObject(content);
    expect(target.steps).toEqual(["begin", "finish", "commit"]);
    expect([reports[0], reports.at(-1)]).toEqual([
      [0, 6],
      [6, 6],
    ]);
  });

  it.each<[string, MemoryTarget["spoil"], RegExp]>([
    ["loses a row", (rows, table) => (table === "pets" ? rows.slice(1) : rows), /the rows of pets \(2 rows and 1\) /],
    ["has a row twice", (rows, table) => (table === "pets" ? [...rows, ...rows] : rows), /of pets \(2 rows and 4\) /],
    ["turns rows round", (rows, table) => (table === "pets" ? rows.toReversed() : rows), /the rows of pets differ/],
    ["loses a value", (rows) => rows.map((row) => row.with(1, null)), /the rows of pets differ/],
    [
      "turns a text into a number",
      (rows) => rows.map((row) => row.map((value) => (value === "1" ? 1n : value))),
      /the rows of pets differ/,
    ],
    [
      "splits an element of a list",
      (rows) => rows.map((row) => row.map((value) => (Array.isArray(value) ? value.join().split(",") : value))),
      /the rows of pets differ/,
    ],
    [
      "changes bytes",
      (rows) => rows.map((row) => row.map((value) => (value instanceof Uint8Array ? value.with(0, 9) : value))),
      /the rows of secrets differ/,
    ],
  ])("that %s is not committed", async (_, spoil, message) => {
    const target = new MemoryTarget();
    target.spoil = spoil;
    await expect(copyStore(createSource(), target)).rejects.toThrow(message);
    expect(target.steps).not.toContain("commit");
  });

  it.each([{ lineage: "ba9876543210" }, { holdPosition: 6n }])(
    "with another head, %o, is not committed",
    async (part) => {
      const target = new MemoryTarget();
      target.head = { ...head, ...part };
      await expect(copyStore(createSource(), target)).rejects.toThrow("target: the heads of the history differ");
      expect(target.steps).not.toContain("commit");
    },
  );

  it("to the store itself is refused before it begins", async () => {
    const target = new MemoryTarget();
    Object.assign(target, { identity: "1" });
    await expect(copyStore(createSource(), target)).rejects.toThrow(
      /^target: this is the store that is copied from; name another one to copy it to$/,
    );
    expect(target.steps).toEqual([]);
  });
});
