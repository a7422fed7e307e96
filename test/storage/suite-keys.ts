import { describe, expect, it } from "vitest";
import type { KeySettings } from "../../src/domain/key.ts";
import { noUsage } from "../../src/domain/limits.ts";
import { firstSave } from "../support/usage-save.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createKey, hashOf } from "./samples.ts";

export function describeKeys(open: OpenStore): void {
  describe("a key", () => {
    it(
      "is found by the hash of its secret, with all of its fields",
      withStore(open, async ({ store, openAnother, reopen }) => {
        const key = createKey({
          id: "key_a",
          name: "Zoë's",
          plan: "enterprise",
          customQuota: { perMinute: 5, perDay: 3 },
          scopes: ["orders:read", "pets:read"],
          expiresAtMs: 1_800_000_000_000,
        });
        await store.createKey(key, hashOf("a"));
        const found = { key, endsAtMs: 1_800_000_000_000 };
        expect(await store.findKey(hashOf("a"))).toEqual(found);
        expect(await (await openAnother()).findKey(hashOf("a"))).toEqual(found);
        expect(await store.findKey(hashOf("b"))).toBeUndefined();
        expect(await store.getKey("key_a")).toEqual(key);
        expect(await store.getKey("key_b")).toBeUndefined();
        expect(await (await reopen()).findKey(hashOf("a"))).toEqual(found);
      }),
    );

    it(
      "keeps no quota of its own, unless it is an enterprise key",
      withStore(open, async ({ store }) => {
        await store.createKey(createKey({ id: "key_a", plan: "business" }), hashOf("a"));
        expect((await store.getKey("key_a"))?.customQuota).toBeUndefined();
      }),
    );

    it(
      "is listed in the order of creation",
      withStore(open, async ({ store }) => {
        const keys = ["key_c", "key_a", "key_b"].map((id) => createKey({ id }));
        await Promise.all(keys.map((key) => store.createKey(key, hashOf(key.id))));
        expect(await store.listKeys()).toEqual(keys);
      }),
    );

    it(
      "is counted with its plan, unless it is revoked or has expired",
      withStore(open, async ({ store, openAnother }) => {
        expect(await store.countKeys(0)).toEqual({ free: 0, pro: 0, business: 0, enterprise: 0 });
        const keys = [
          createKey({ id: "key_a" }),
          createKey({ id: "key_b", plan: "pro" }),
          createKey({ id: "key_c", plan: "pro", expiresAtMs: 5_000 }),
          createKey({ id: "key_d", plan: "business" }),
        ];
        await Promise.all(keys.map((key) => store.createKey(key, hashOf(key.id))));
        await store.revokeKey("key_d", 1_000);
        expect(await store.countKeys(4_999)).toEqual({ free: 1, pro: 2, business: 0, enterprise: 0 });
        expect(await store.countKeys(5_000)).toEqual({ free: 1, pro: 1, business: 0, enterprise: 0 });
        expect(await store.countKeys(4_999)).toEqual({ free: 1, pro: 2, business: 0, enterprise: 0 });
        await (await openAnother()).revokeKey("key_a", 1_000);
        expect(await store.countKeys(4_999)).toEqual({ free: 0, pro: 2, business: 0, enterprise: 0 });
      }),
    );

    it(
      "is not created twice, nor with a secret that another has; what is written beside it stands",
      withStore(open, async ({ store }) => {
        const key = createKey({ id: "key_a" });
        const results = await Promise.all([
          store.createKey(key, hashOf("a")),
          store.createKey(key, hashOf("b")),
          store.createKey(createKey({ id: "key_b" }), hashOf("a")),
          store.createKey(createKey({ id: "key_c" }), hashOf("c")),
        ]);
        expect(results).toEqual(["created", "taken", "taken", "created"]);
        expect((await store.listKeys()).map(({ id }) => id)).toEqual(["key_a", "key_c"]);
        expect(await store.findKey(hashOf("b"))).toBeUndefined();
      }),
    );

    it(
      "keeps working with its former secrets until the end of their grace",
      withStore(open, async ({ store }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("1"));
        await store.createKey(createKey({ id: "key_b" }), hashOf("other"));
        await store.rotateKey("key_a", hashOf("2"), 5_000);
        await store.rotateKey("key_a", hashOf("3"), 4_000);
        await store.rotateKey("key_a", hashOf("4"), 9_000);
        const ends = ["1", "2", "3", "4", "other"].map(async (secret) => store.findKey(hashOf(secret)));
        expect(await Promise.all(ends)).toMatchObject([
          { key: { id: "key_a" }, endsAtMs: 4_000 },
          { key: { id: "key_a" }, endsAtMs: 4_000 },
          { key: { id: "key_a" }, endsAtMs: 9_000 },
          { key: { id: "key_a" }, endsAtMs: Infinity },
          { key: { id: "key_b" }, endsAtMs: Infinity },
        ]);
        expect(await store.listOldSecretEnds("key_a", 3_999)).toEqual([4_000, 4_000, 9_000]);
        expect(await store.listOldSecretEnds("key_a", 4_000)).toEqual([9_000]);
        expect(await store.listOldSecretEnds("key_b", 0)).toEqual([]);
        expect(await store.listOldSecretEnds("key_c", 0)).toEqual([]);
      }),
    );

    it(
      "has no old secret that works longer than itself",
      withStore(open, async ({ store }) => {
        const key = createKey({ id: "key_a", expiresAtMs: 5_000 });
        await store.createKey(key, hashOf("1"));
        await store.rotateKey("key_a", hashOf("2"), 9_000);
        await store.rotateKey("key_a", hashOf("3"), 9_000);
        await store.rotateKey("key_a", hashOf("4"), 4_000);
        await store.rotateKey("key_a", hashOf("5"), 9_000);
        expect(await store.listOldSecretEnds("key_a", 3_000)).toEqual([4_000, 4_000, 4_000, 5_000]);
        expect(await store.listOldSecretEnds("key_a", 5_000)).toEqual([]);
        await store.revokeKey("key_a", 3_000);
        expect(await store.listOldSecretEnds("key_a", 3_000)).toEqual([]);
      }),
    );

    it(
      "gets no secret by rotation that a key has already, live or not",
      withStore(open, async ({ store }) => {
        const [key, other] = [createKey({ id: "key_a" }), createKey({ id: "key_b" })];
        await store.createKey(key, hashOf("a"));
        await store.createKey(other, hashOf("b"));
        await store.rotateKey("key_b", hashOf("c"), 1_000);
        for (const secret of ["a", "b", "c"]) {
          expect(await store.rotateKey("key_a", hashOf(secret), 2_000)).toEqual({ outcome: "taken", key });
        }
        expect(await store.findKey(hashOf("a"))).toEqual({ key, endsAtMs: Infinity });
        expect(await store.findKey(hashOf("b"))).toEqual({ key: other, endsAtMs: 1_000 });
      }),
    );

    it(
      "is revoked for good, at the time of the first revocation, and takes no change from then on",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        const key = createKey({ id: "key_a" });
        await store.createKey(key, hashOf("a"));
        const revoked = { ...key, revokedAtMs: 1_000 };
        expect(await other.revokeKey("key_a", 1_000)).toEqual({ outcome: "done", key: revoked });
        const refusal = { outcome: "revoked", key: revoked };
        expect(await store.revokeKey("key_a", 2_000)).toEqual(refusal);
        expect(await store.rotateKey("key_a", hashOf("b"), 3_000)).toEqual(refusal);
        expect(await store.unbanKey("key_a")).toEqual(refusal);
        expect(await store.updateKey(key, { ...key, name: "Other" })).toEqual(refusal);
        expect(await store.findKey(hashOf("a"))).toEqual({ key: revoked, endsAtMs: Infinity });
        expect(await store.findKey(hashOf("b"))).toBeUndefined();
      }),
    );

    it(
      "is revoked once, and rotated before that or not at all, when all is asked at the same time",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        const [first, rotation, second] = await Promise.all([
          store.revokeKey("key_a", 1_000),
          other.rotateKey("key_a", hashOf("b"), 3_000),
          other.revokeKey("key_a", 2_000),
        ]);
        expect([first.outcome, second.outcome].sort()).toEqual(["done", "revoked"]);
        expect((await store.findKey(hashOf("b"))) !== undefined).toBe(rotation.outcome === "done");
      }),
    );

    it(
      "counts how often it has been unbanned",
      withStore(open, async ({ store }) => {
        const key = createKey({ id: "key_a" });
        await store.createKey(key, hashOf("a"));
        expect(await store.unbanKey("key_a")).toEqual({ outcome: "done", key: { ...key, unbans: 1 } });
        expect(await store.unbanKey("key_a")).toEqual({ outcome: "done", key: { ...key, unbans: 2 } });
        expect((await store.getKey("key_a"))?.unbans).toBe(2);
      }),
    );

    it(
      "takes other settings, and keeps its secrets, usage and unbans",
      withStore(open, async ({ store, openAnother, reopen }) => {
        const key = createKey({ id: "key_a", plan: "free", unbans: 3 });
        await store.createKey(key, hashOf("a"));
        const usage = { ...noUsage, day: { openedAtMs: 5, count: 7 }, ban: { step: 2, endsAtMs: 9 } };
        await store.saveUsage(firstSave({ keyId: "key_a", usage, lastUsedAtMs: 8 }));
        const settings: KeySettings = {
          name: "Zoë's",
          plan: "enterprise",
          customQuota: { perMinute: 5, perDay: 3 },
          scopes: ["orders:read"],
          expiresAtMs: 1_800_000_000_000,
        };
        const used = { ...key, lastUsedAtMs: 8 };
        const updated = { ...used, ...settings };
        expect(await store.updateKey(used, settings)).toEqual({ outcome: "done", key: updated });
        expect(await (await openAnother()).findKey(hashOf("a"))).toEqual({
          key: updated,
          endsAtMs: 1_800_000_000_000,
        });
        expect(await store.loadUsage("key_a")).toEqual(usage);
        const back = { ...updated, plan: "pro", customQuota: undefined, expiresAtMs: undefined } as const;
        expect(await store.updateKey(updated, back)).toEqual({ outcome: "done", key: back });
        expect(await (await reopen()).getKey("key_a")).toEqual(back);
      }),
    );

    it(
      "takes no settings that were chosen by what it was before another change",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        const key = createKey({ id: "key_a", plan: "free" });
        await store.createKey(key, hashOf("a"));
        await other.updateKey(key, { ...key, plan: "pro" });
        const now = { ...key, plan: "pro" } as const;
        expect(await store.updateKey(key, { ...key, name: "Other" })).toEqual({ outcome: "stale", key: now });
        expect(await store.getKey("key_a")).toEqual(now);
        await other.unbanKey("key_a");
        expect(await store.updateKey(now, { ...now, name: "Other" })).toMatchObject({ outcome: "done" });
      }),
    );

    it(
      "with an unknown id is not made by a change",
      withStore(open, async ({ store }) => {
        const unknown = { outcome: "unknown" };
        const key = createKey({ id: "key_a" });
        expect(await store.revokeKey("key_a", 1_000)).toEqual(unknown);
        expect(await store.unbanKey("key_a")).toEqual(unknown);
        expect(await store.rotateKey("key_a", hashOf("a"), 1_000)).toEqual(unknown);
        expect(await store.updateKey(key, { ...key, name: "Other" })).toEqual(unknown);
        expect(await store.listKeys()).toEqual([]);
        expect(await store.findKey(hashOf("a"))).toBeUndefined();
      }),
    );
  });
}
