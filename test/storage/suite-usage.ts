import { describe, expect, it } from "vitest";
import { noUsage, type Usage } from "../../src/domain/limits.ts";
import type { KeyUsage } from "../../src/domain/store.ts";
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
      ["none of it", noUsage],
      ["windows only", { ...full, refusals: undefined, ban: undefined }],
      ["a ban only", { ...noUsage, ban: { step: 1, endsAtMs: 1 } }],
    ])("outlives a restart: %s", (_, usage) =>
      withStore(open, async ({ store, openAnother, reopen }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        await store.saveUsage([{ keyId: "key_a", usage: full, lastUsedAtMs: 1 }]);
        await store.saveUsage([{ keyId: "key_a", usage, lastUsedAtMs: 1_700_000_000_000 }]);
        expect(await (await openAnother()).loadUsage("key_a")).toEqual(usage);
        const reopened = await reopen();
        expect(await reopened.loadUsage("key_a")).toEqual(usage);
        expect((await reopened.getKey("key_a"))?.lastUsedAtMs).toBe(1_700_000_000_000);
        expect((await reopened.listKeys())[0]?.lastUsedAtMs).toBe(1_700_000_000_000);
        expect((await reopened.findKey(hashOf("a")))?.key.lastUsedAtMs).toBe(1_700_000_000_000);
      })(),
    );

    it(
      "is listed for all keys that have any, with when they last called what is deprecated",
      withStore(open, async ({ store, openAnother }) => {
        for (const id of ["key_a", "key_b", "key_c"]) {
          await store.createKey(createKey({ id }), hashOf(id));
        }
        const [a, b] = ["key_a", "key_b"].map((keyId) => ({ keyId, usage: full, lastUsedAtMs: 1 })) as [
          KeyUsage,
          KeyUsage,
        ];
        await store.saveUsage([{ ...a, deprecatedCalls: new Map([["a/B", 1]]) }, b]);
        await store.saveUsage([{ ...a, lastUsedAtMs: 2, deprecatedCalls: new Map([["a/C", 2]]) }]);
        await store.saveUsage([{ ...a, deprecatedCalls: new Map([["a/B", 3]]) }]);
        await store.saveUsage([{ ...a, keyId: "key_x", deprecatedCalls: new Map([["a/B", 3]]) }]);
        await store.saveUsage([a]);
        const listed = await (await openAnother()).listUsage();
        expect(listed.toSorted((one, other) => one.keyId.localeCompare(other.keyId))).toEqual([
          {
            ...a,
            deprecatedCalls: new Map([
              ["a/B", 3],
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
      "is saved for many at once, those of unknown keys passed over",
      withStore(open, async ({ store }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        await store.createKey(createKey({ id: "key_b" }), hashOf("b"));
        await store.saveUsage(["key_a", "key_x", "key_b"].map((keyId) => ({ keyId, usage: full, lastUsedAtMs: 1 })));
        expect(await store.loadUsage("key_a")).toEqual(full);
        expect(await store.loadUsage("key_b")).toEqual(full);
        expect(await store.loadUsage("key_x")).toBeUndefined();
      }),
    );
  });
}
