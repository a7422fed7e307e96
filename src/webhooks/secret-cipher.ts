import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** The prefix of an encrypted secret. Other secrets are in the store as they are. */
const prefix = "aes256gcm:";

const [nonceBytes, tagBytes] = [12, 16];

/** A secret cannot be read: it is encrypted, and the encryption key is missing, or is another one. */
export class UndecryptableSecretError extends Error {
  override readonly name = "UndecryptableSecretError";
}

/** Whether the store keeps a secret encrypted. */
export function isEncrypted(stored: string): boolean {
  return stored.startsWith(prefix);
}

/** Encrypts the signing secrets of webhooks for the store, so that a copy of the store alone does not give them away. */
export class SecretCipher {
  readonly #key: Uint8Array | undefined;

  /** `key` has 32 bytes. Without it, secrets are kept as they are. */
  constructor(key: Uint8Array | undefined) {
    this.#key = key;
  }

  /** Returns what the store keeps of a secret. An encrypted secret can be decrypted for this webhook only. */
  encrypt(secret: string, webhookId: string): string {
    if (this.#key === undefined) {
      return secret;
    }
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce).setAAD(Buffer.from(webhookId));
    const encrypted = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
    return prefix + Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString("base64");
  }

  /** The secret that the store keeps. Throws `UndecryptableSecretError`. */
  decrypt(stored: string, webhookId: string): string {
    if (this.#key === undefined && isEncrypted(stored)) {
      throw new UndecryptableSecretError("its secret needs PETSTORE_SECRET_KEY");
    }
    const secret = this.decryptIfPossible(stored, webhookId);
    if (secret === undefined) {
      throw new UndecryptableSecretError("its secret was encrypted with another PETSTORE_SECRET_KEY");
    }
    return secret;
  }

  /** As `decrypt`; undefined where the secret cannot be read. */
  decryptIfPossible(stored: string, webhookId: string): string | undefined {
    if (!isEncrypted(stored)) {
      return stored;
    }
    if (this.#key === undefined) {
      return undefined;
    }
    const bytes = Buffer.from(stored.slice(prefix.length), "base64");
    try {
      const nonce = bytes.subarray(0, nonceBytes);
      const decipher = createDecipheriv("aes-256-gcm", this.#key, nonce, { authTagLength: tagBytes })
        .setAAD(Buffer.from(webhookId))
        .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      return decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, "utf8") + decipher.final("utf8");
    } catch {
      return undefined;
    }
  }
}
