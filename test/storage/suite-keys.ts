import { describe, expect, it } from "vitest";
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
        const found = { key, secretExpiresAtMs: undefined };
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
      withStore(open, async ({ store }) => {
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
      }),
    );

    it(
      "is not created twice, nor with a secret that another has; what is written beside it stands",
      withStore(open, async ({ store }) => {
        const key = createKey({ id: "key_a" });
        const results = await Promise.allSettled([
          store.createKey(key, hashOf("a")),
          store.createKey(key, hashOf("b")),
          store.createKey(createKey({ id: "key_b" }), hashOf("a")),
          store.createKey(createKey({ id: "key_c" }), hashOf("c")),
        ]);
        expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
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
          { key: { id: "key_a" }, secretExpiresAtMs: 4_000 },
          { key: { id: "key_a" }, secretExpiresAtMs: 4_000 },
          { key: { id: "key_a" }, secretExpiresAtMs: 9_000 },
          { key: { id: "key_a" }, secretExpiresAtMs: undefined },
          { key: { id: "key_b" }, secretExpiresAtMs: undefined },
        ]);
      }),
    );

    it(
      "is revoked for good, at the time of the first revocation, and is not rotated then",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        await other.revokeKey("key_a", 1_000);
        await store.revokeKey("key_a", 2_000);
        await store.rotateKey("key_a", hashOf("b"), 3_000);
        expect(await store.findKey(hashOf("a"))).toMatchObject({
          key: { revokedAtMs: 1_000 },
          secretExpiresAtMs: undefined,
        });
        expect(await store.findKey(hashOf("b"))).toBeUndefined();
      }),
    );

    it(
      "counts how often it has been unbanned",
      withStore(open, async ({ store }) => {
        await store.createKey(createKey({ id: "key_a" }), hashOf("a"));
        await store.unbanKey("key_a");
        await store.unbanKey("key_a");
        expect((await store.getKey("key_a"))?.unbans).toBe(2);
      }),
    );

    it(
      "that does not exist is passed over",
      withStore(open, async ({ store }) => {
        await store.revokeKey("key_a", 1_000);
        await store.unbanKey("key_a");
        await store.rotateKey("key_a", hashOf("a"), 1_000);
        expect(await store.listKeys()).toEqual([]);
        expect(await store.findKey(hashOf("a"))).toBeUndefined();
      }),
    );
  });
}
