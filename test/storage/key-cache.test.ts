import { randomBytes } from "node:crypto";
import { beforeEach, expect, it } from "vitest";
import { type FoundKey, hashSecret, mintSecret } from "../../src/domain/key.ts";
import type { KeyFinder } from "../../src/domain/store.ts";
import { KeyCache } from "../../src/storage/key-cache.ts";
import { createKey } from "./samples.ts";

const secret = mintSecret(randomBytes);
const found: FoundKey = { key: createKey({ id: "key_a" }), endsAtMs: Infinity };

let silenceMs: number;
let lookUps: number;
let stored: FoundKey | undefined;
let failure: Error | undefined;
let changeKeys: () => void;
let keys: KeyFinder;

beforeEach(() => {
  lookUps = 0;
  stored = found;
  failure = undefined;
  const store = {
    async findKey(hash: Uint8Array) {
      lookUps += 1;
      if (failure !== undefined) {
        throw failure;
      }
      return Buffer.from(hash).equals(hashSecret(secret)) ? stored : undefined;
    },
  };
  silenceMs = 0;
  const changes = {
    subscribe(topic: string, listener: () => void) {
      expect(topic).toBe("keys");
      changeKeys = listener;
    },
    silenceMs: () => silenceMs,
  };
  keys = new KeyCache(store, changes, 5_000);
});

it("looks a key up once, until keys change", async () => {
  for (const times of [1, 1]) {
    expect(await keys.find(secret)).toBe(found);
    expect(lookUps).toBe(times);
  }
  changeKeys();
  expect(await keys.find(secret)).toBe(found);
  expect(lookUps).toBe(2);
});

it("looks up nothing that cannot be a secret", async () => {
  for (const text of ["", "psk_", secret.slice(1), `${secret.slice(0, -1)}!`, `psk_${"a".repeat(36)}`]) {
    expect(await keys.find(text)).toBeUndefined();
  }
  expect(lookUps).toBe(0);
});

it("looks an unknown secret up once, until keys change", async () => {
  stored = undefined;
  for (let asked = 0; asked < 5; asked += 1) {
    expect(await keys.find(secret)).toBeUndefined();
  }
  expect(lookUps).toBe(1);
  stored = found;
  changeKeys();
  expect(await keys.find(secret)).toBe(found);
});

it("finds a known key after any number of unknown ones", async () => {
  await keys.find(secret);
  for (let made = 0; made < 20_000; made += 1) {
    await keys.find(mintSecret(randomBytes));
  }
  const before = lookUps;
  expect(await keys.find(secret)).toBe(found);
  expect(lookUps).toBe(before);
});

it("shares one look-up among requests that come together", async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, async () => keys.find(secret)));
  expect(answers).toEqual(Array(5).fill(found));
  expect(lookUps).toBe(1);
});

it("remembers nothing of a look-up that has failed, or during which keys have changed", async () => {
  failure = new Error("busy");
  await expect(keys.find(secret)).rejects.toBe(failure);
  failure = undefined;
  const early = keys.find(secret);
  changeKeys();
  expect(await early).toBe(found);
  stored = undefined;
  expect(await keys.find(secret)).toBeUndefined();
});

it("takes no key for valid while the store is silent for too long", async () => {
  expect(await keys.find(secret)).toBe(found);
  silenceMs = 5_001;
  await expect(keys.find(secret)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(keys.find("other")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  silenceMs = 0;
  expect(await keys.find(secret)).toBe(found);
  expect(lookUps).toBe(1);
});
