import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  drawBase62,
  formatBase62,
  foundKey,
  hashSecret,
  isSecret,
  type Key,
  mintKeyId,
  mintSecret,
  newKey,
  refusalOf,
} from "../../src/domain/key.ts";
import { anyCharacter } from "../support/any-character.ts";

const key = newKey({ id: "key_1", name: "", plan: "free", createdAtMs: 0 });

describe("a key", () => {
  it.each<[title: string, found: Partial<Key> & { secretExpiresAtMs?: number }, expected: string | undefined]>([
    ["without an end is valid", {}, undefined],
    ["is valid until its end", { expiresAtMs: 1_001 }, undefined],
    ["has expired at its end", { expiresAtMs: 1_000 }, "API_KEY_EXPIRED"],
    ["is valid until the end of its secret", { expiresAtMs: 5_000, secretExpiresAtMs: 1_001 }, undefined],
    ["has expired at the end of its secret", { expiresAtMs: 5_000, secretExpiresAtMs: 1_000 }, "API_KEY_EXPIRED"],
    ["is revoked, whenever that was", { revokedAtMs: 9_000 }, "API_KEY_REVOKED"],
    ["is revoked rather than expired", { revokedAtMs: 1, expiresAtMs: 1 }, "API_KEY_REVOKED"],
  ])("%s", (_title, { secretExpiresAtMs, ...fields }, expected) => {
    expect(refusalOf(foundKey({ ...key, ...fields }, secretExpiresAtMs), 1_000)?.code).toBe(expected);
  });
});

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".split("");

/** Secrets of random bytes that fast-check knows, and can shrink. */
const secrets = fc
  .infiniteStream(fc.nat(255))
  .map((bytes) => mintSecret((size) => Uint8Array.from({ length: size }, () => bytes.next().value ?? 0)));

describe("a secret", () => {
  it("has a prefix, 30 random characters, and the CRC-32 of these", () => {
    // The CRC-32 of thirty zeros is 2011552642.
    expect(mintSecret((size) => new Uint8Array(size))).toBe(`psk_${"0".repeat(30)}2C8GjS`);
    expect(mintSecret(randomBytes)).toMatch(/^psk_[0-9A-Za-z]{36}$/);
  });

  it("is another one each time", () => {
    expect(new Set(Array.from({ length: 1_000 }, () => mintSecret(randomBytes))).size).toBe(1_000);
  });

  it("is taken for one", () => {
    fc.assert(fc.property(secrets, (secret) => isSecret(secret)));
  });

  it("is refused with any one character mistyped", () => {
    const mistyped = fc.tuple(secrets, fc.nat(35), fc.constantFrom(...alphabet));
    fc.assert(
      fc.property(mistyped, ([secret, index, character]) => {
        const position = "psk_".length + index;
        fc.pre(secret[position] !== character);
        return !isSecret(secret.slice(0, position) + character + secret.slice(position + 1));
      }),
      { numRuns: 2_000 },
    );
  });

  it("is refused with two neighbours swapped", () => {
    fc.assert(
      fc.property(secrets, fc.nat(34), (secret, index) => {
        const [a = "", b = ""] = secret.slice(4 + index, 6 + index);
        fc.pre(a !== b);
        return !isSecret(secret.slice(0, 4 + index) + b + a + secret.slice(6 + index));
      }),
      { numRuns: 2_000 },
    );
  });

  it("is refused when cut short, or made longer", () => {
    fc.assert(fc.property(secrets, fc.nat(39), (secret, length) => !isSecret(secret.slice(0, length))));
    fc.assert(fc.property(secrets, fc.string({ minLength: 1 }), (secret, more) => !isSecret(secret + more)));
    fc.assert(fc.property(secrets, fc.string({ minLength: 1 }), (secret, more) => !isSecret(more + secret)));
  });

  it("is not found in random text", () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => !isSecret(text)));
    const sameShape = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 36, maxLength: 36 });
    fc.assert(fc.property(sameShape, (text) => !isSecret(`psk_${text}`)));
  });

  it("is kept as its SHA-256", () => {
    const secret = mintSecret(randomBytes);
    expect(Buffer.from(hashSecret(secret))).toEqual(createHash("sha256").update(secret).digest());
  });
});

describe("the id of a key", () => {
  it("has a prefix and 16 random characters", () => {
    expect(mintKeyId(randomBytes)).toMatch(/^key_[0-9A-Za-z]{16}$/);
  });
});

describe("base62", () => {
  it.each([
    [0, "000000"],
    [61, "00000z"],
    [62, "000010"],
    [0xffff_ffff, "4gfFC3"],
  ])("writes %d as %s", (value, expected) => {
    expect(formatBase62(value, 6)).toBe(expected);
  });

  it("leaves out the bytes that would favour some characters", () => {
    const bytes = [255, 248, 61, 250, 62, 247];
    expect(drawBase62(3, (size) => Uint8Array.from(bytes.splice(0, size)))).toBe("z0z");
  });

  it("draws every character equally often", () => {
    const counts = new Map<string, number>();
    for (const character of drawBase62(62_000, randomBytes)) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect(counts.size).toBe(62);
    // Six standard deviations on either side of 1,000.
    expect(Math.min(...counts.values())).toBeGreaterThan(810);
    expect(Math.max(...counts.values())).toBeLessThan(1_190);
  });
});
