import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { SealedSecretError, SecretBox } from "../../src/webhooks/secret-box.ts";

const box = new SecretBox(randomBytes(32));
const open = new SecretBox(undefined);
const secret = "whsec_c2VjcmV0";

it("keeps a secret as it is where there is no key", () => {
  expect(open.seal(secret, "whk_a")).toBe(secret);
  expect(open.open(secret, "whk_a")).toBe(secret);
});

it("encrypts a secret, each time anew, and reads it again", () => {
  const [first, second] = [box.seal(secret, "whk_a"), box.seal(secret, "whk_a")];
  expect(first).not.toBe(second);
  expect(Buffer.from(first.replace("aes256gcm:", ""), "base64").toString("latin1")).not.toContain("whsec_");
  expect(box.open(first, "whk_a")).toBe(secret);
});

it("reads a secret that was stored before there was a key", () => {
  expect(box.open(secret, "whk_a")).toBe(secret);
});

it("refuses the secret of another webhook, another key, no key, and one that was tampered with", () => {
  const sealed = box.seal(secret, "whk_a");
  const tampered = `${sealed.slice(0, -4)}${sealed.endsWith("AAA=") ? "BBB=" : "AAA="}`;
  expect(() => box.open(sealed, "whk_b")).toThrow(SealedSecretError);
  expect(() => new SecretBox(randomBytes(32)).open(sealed, "whk_a")).toThrow(SealedSecretError);
  expect(() => open.open(sealed, "whk_a")).toThrow(SealedSecretError);
  expect(() => box.open(tampered, "whk_a")).toThrow(SealedSecretError);
  expect(() => box.open("aes256gcm:", "whk_a")).toThrow(SealedSecretError);
  expect(() => open.open(sealed, "whk_a")).toThrow("its secret needs PETSTORE_SECRET_KEY");
  expect(box.openIfPossible(tampered, "whk_a")).toBeUndefined();
});
