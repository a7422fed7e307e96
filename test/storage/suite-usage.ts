import { describe, expect, it } from "vitest";
import { noUsage, type Usage } from "../../src/domain/limits.ts";
import type { KeyUsage } from "../../src/domain/store.ts";
import { firstSave } from "../support/usage-save.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createKey, hashOf } from "./samples.ts";

const full: Usage = {
  minute: { openedAtMs: 1_700_000_000_001, count: 1 },
  day: { openedAtMs: 1_700_000_000_002, count: 2 },
  refusals: { openedAtMs: 1_700_000_000_003, count: 3 },
  ban: { step: 4, endsAtMs: 1_700_000_000_004 },
  unbans: 5,
};

export function describeUsage(open: OpenStore): void {
  describe("the usage of a key", () => {
    it(
      "is not known before it is saved",
      withStore(open, async ({ store }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        expect(await store.loadUsage("key_a")).toBeUndefined();
        expect(await store.loadUsage("key_b")).toBeUndefined();
      }),
    );

    it.each([
      ["all of it", full],
      ["windows only", { ...full, refusals: undefined, ban: undefined }],
      ["a ban only", { ...noUsage, ban: { step: 1, endsAtMs: 1 } }],
      ["none of it", noUsage],
    ])("outlives a restart: %s", (_, usage) =>
      withStore(open, async ({ store, openAnother, reopen }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        await store.saveUsage(firstSave({ keyId: "key_a", usage: full, lastUsedAtMs: 1 }));
        const lastUsedAtMs = 1_700_000_000_000;
        await store.saveUsage(firstSave({ keyId: "key_a", base: full, usage, lastUsedAtMs }));
        expect(await (await openAnother()).loadUsage("key_a")).toEqual(usage);
        const reopened = await reopen();
        expect(await reopened.loadUsage("key_a")).toEqual(usage);
        expect((await reopened.getKey("key_a"))?.lastUsedAtMs).toBe(lastUsedAtMs);
        expect((await reopened.listKeys())[0]?.lastUsedAtMs).toBe(lastUsedAtMs);
        expect((await reopened.findKey(hashOf("a")))?.key.lastUsedAtMs).toBe(lastUsedAtMs);
      })(),
    );

    it(
      "of two servers is added up, and each hears what the other has counted",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        const counted = (count: number) => ({
          keyId: "key_a",
          usage: { ...noUsage, day: { openedAtMs: 5, count } },
          lastUsedAtMs: 9,
        });
        expect(await store.saveUsage(firstSave(counted(50)))).toEqual(new Map());
        const sum = counted(90).usage;
        expect(await other.saveUsage(firstSave(counted(40)))).toEqual(new Map([["key_a", sum]]));
        expect(await store.loadUsage("key_a")).toEqual(sum);
      }),
    );

    it(
      "is counted once when a server repeats a save, which need not know what has become of it",
      withStore(open, async ({ store, openAnother }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        const day = (count: number) => ({ ...noUsage, day: { openedAtMs: 5, count } });
        const first = firstSave({ keyId: "key_a", usage: day(50), lastUsedAtMs: 9 });
        const counted = { keyId: "key_a", base: day(50), usage: day(55), lastUsedAtMs: 9 };
        const second = { ...first, number: 2, usages: [counted] };
        await store.saveUsage(first);
        await (await openAnother()).saveUsage(firstSave({ keyId: "key_a", usage: day(1), lastUsedAtMs: 8 }));
        for (const count of [51, 51]) {
          expect(await store.saveUsage(first)).toEqual(new Map([["key_a", day(count)]]));
        }
        for (const count of [56, 56]) {
          expect(await store.saveUsage(second)).toEqual(new Map([["key_a", day(count)]]));
        }
        expect(await store.saveUsage(first)).toEqual(new Map([["key_a", day(56)]]));
      }),
    );

    it(
      "keeps the last use, and the last call of each deprecated method, whoever saves later",
      withStore(open, async ({ store }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        const save = (lastUsedAtMs: number, calls: [string, number][]) =>
          store.saveUsage(firstSave({ keyId: "key_a", usage: noUsage, lastUsedAtMs, deprecatedCalls: new Map(calls) }));
        await save(5, [["a/B", 5]]);
        await save(3, [
          ["a/B", 2],
          ["a/C", 3],
        ]);
        expect(await store.getUsage("key_a")).toMatchObject({
          lastUsedAtMs: 5,
          deprecatedCalls: new Map([
            ["a/B", 5],
            ["a/C", 3],
          ]),
        });
      }),
    );

    it(
      "is listed for all keys that have any, with the last calls of deprecated methods",
      withStore(open, async ({ store, openAnother }) => {
        for (const id of ["key_a", "key_b", "key_c"]) {
          await store.createKey(createKey({ id }), hashOf(id));
        }
        const [a, b] = ["key_a", "key_b"].map((keyId) => ({ keyId, usage: full, lastUsedAtMs: 1 })) as [
          KeyUsage,
          KeyUsage,
        ];
        await store.saveUsage(firstSave({ ...a, deprecatedCalls: new Map([["a/B", 1]]) }, b));
        await store.saveUsage(firstSave({ ...a, base: full, deprecatedCalls: new Map([["a/C", 2]]) }));
        await store.saveUsage(firstSave({ ...a, keyId: "key_x", deprecatedCalls: new Map([["a/B", 3]]) }));
        await store.saveUsage(firstSave({ ...a, base: full }));
        const listed = await (await openAnother()).listUsage();
        expect(listed.toSorted((one, other) => one.keyId.localeCompare(other.keyId))).toEqual([
          {
            ...a,
            deprecatedCalls: new Map([
              ["a/B", 1],
              ["a/C", 2],
            ]),
          },
          { ...b, deprecatedCalls: new Map() },
        ]);
        for (const usage of listed) {
          expect(await store.getUsage(usage.keyId)).toEqual(usage);
        }
        expect(await store.getUsage("key_c")).toBeUndefined();
      }),
    );

    it(
      "is saved for many at once, and unknown keys are ignored",
      withStore(open, async ({ store }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        await store.createKey(createKey({ id: "key_b" }), hashOf("b"));
        const usages = ["key_a", "key_x", "key_b"].map((keyId) => ({ keyId, usage: full, lastUsedAtMs: 1 }));
        expect(await store.saveUsage(firstSave(...usages))).toEqual(new Map());
        expect(await store.loadUsage("key_a")).toEqual(full);
        expect(await store.loadUsage("key_b")).toEqual(full);
        expect(await store.loadUsage("key_x")).toBeUndefined();
      }),
    );
  });
}
