import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { SecretCipher, UndecryptableSecretError } from "../../src/webhooks/secret-cipher.ts";

const cipher = new SecretCipher(randomBytes(32));
const withoutKey = new SecretCipher(undefined);
const secret = "whsec_c2VjcmV0";

it("keeps a secret as it is where there is no key", () => {
  expect(withoutKey.encrypt(secret, "whk_a")).toBe(secret);
  expect(withoutKey.decrypt(secret, "whk_a")).toBe(secret);
});

it("encrypts a secret, each time anew, and reads it again", () => {
  const [first, second] = [cipher.encrypt(secret, "whk_a"), cipher.encrypt(secret, "whk_a")];
  expect(first).not.toBe(second);
  expect(Buffer.from(first.replace("aes256gcm:", ""), "base64").toString("latin1")).not.toContain("whsec_");
  expect(cipher.decrypt(first, "whk_a")).toBe(secret);
});

it("reads a secret that was stored before there was a key", () => {
  expect(cipher.decrypt(secret, "whk_a")).toBe(secret);
});

it("refuses the secret of another webhook, another key, no key, and one that was tampered with", () => {
  const encrypted = cipher.encrypt(secret, "whk_a");
  const tampered = `${encrypted.slice(0, -4)}${encrypted.endsWith("AAA=") ? "BBB=" : "AAA="}`;
  expect(() => cipher.decrypt(encrypted, "whk_b")).toThrow(UndecryptableSecretError);
  expect(() => new SecretCipher(randomBytes(32)).decrypt(encrypted, "whk_a")).toThrow(UndecryptableSecretError);
  expect(() => withoutKey.decrypt(encrypted, "whk_a")).toThrow(UndecryptableSecretError);
  expect(() => cipher.decrypt(tampered, "whk_a")).toThrow(UndecryptableSecretError);
  expect(() => cipher.decrypt("aes256gcm:", "whk_a")).toThrow(UndecryptableSecretError);
  expect(() => withoutKey.decrypt(encrypted, "whk_a")).toThrow("its secret needs PETSTORE_SECRET_KEY");
  expect(cipher.decryptIfPossible(tampered, "whk_a")).toBeUndefined();
});
