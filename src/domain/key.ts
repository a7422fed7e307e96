import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { apiKeyExpired, apiKeyRevoked, type DomainError } from "./errors.ts";

/** The plans. The quota of an enterprise key is agreed individually: see `quotaOf` of `limits.ts`. */
export const plans = ["free", "pro", "business", "enterprise"] as const;

export type Plan = (typeof plans)[number];

/** How many requests a key may make. */
export interface Quota {
  readonly perMinute: number;
  readonly perDay: number;
}

/** What a key may be allowed to do. */
export const scopes = ["inventory:read", "inventory:write", "pets:read", "orders:read"] as const;

export type Scope = (typeof scopes)[number];

/** An API key, without its secret, which is never kept. Times are milliseconds since the Unix epoch. */
export interface Key {
  /** `key_` and random letters. It stays when the secret is rotated. */
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  /** The quota agreed for an enterprise key. Undefined for other keys: they have the present quota of their plan. */
  readonly customQuota: Quota | undefined;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly lastUsedAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** How often the key has been unbanned. A ban from before the last unban is void. */
  readonly unbans: number;
}

/** The fields of a key that can be changed. The others are set at its creation, or follow from its use. */
export type KeySettings = Pick<Key, "name" | "plan" | "customQuota" | "scopes" | "expiresAtMs">;

/** The settings of a key alone. */
export function settingsOf({ name, plan, customQuota, scopes, expiresAtMs }: KeySettings): KeySettings {
  return { name, plan, customQuota, scopes, expiresAtMs };
}

/** A key as found by the hash of a secret. */
export interface FoundKey {
  readonly key: Key;
  /** When the key or the secret ends, whichever is first, in milliseconds since the Unix epoch; infinity for never. */
  readonly endsAtMs: number;
}

/** A key as found by the hash of a secret, which ends at `secretExpiresAtMs` if it has been replaced. */
export function foundKey(key: Key, secretExpiresAtMs: number | undefined): FoundKey {
  return { key, endsAtMs: Math.min(key.expiresAtMs ?? Infinity, secretExpiresAtMs ?? Infinity) };
}

/** Draws the id of a new key: `key_` and 16 base62 characters. */
export function mintKeyId(randomBytes: RandomBytes): string {
  return `key_${drawBase62(16, randomBytes)}`;
}

/** The fields that are set when a key is created. */
type NewKey = Pick<Key, "id" | "name" | "plan" | "createdAtMs"> &
  Partial<Pick<Key, "customQuota" | "scopes" | "expiresAtMs">>;

/** A key that was never used. By default it has all scopes and does not expire. */
export function newKey(given: NewKey): Key {
  return {
    customQuota: undefined,
    scopes,
    expiresAtMs: undefined,
    lastUsedAtMs: undefined,
    revokedAtMs: undefined,
    unbans: 0,
    ...given,
  };
}

/**
 * Why a key is not valid at `nowMs`; undefined when it is valid. A revoked key gets `API_KEY_REVOKED`. Any other gets
 * `API_KEY_EXPIRED` from the millisecond `endsAtMs` on.
 */
export function refusalOf({ key, endsAtMs }: FoundKey, nowMs: number): DomainError | undefined {
  if (key.revokedAtMs !== undefined) {
    return apiKeyRevoked();
  }
  return nowMs < endsAtMs ? undefined : apiKeyExpired();
}

/*
 * secret = "psk_" random check
 * random = 30 base62 characters, some 178 bits
 * check  = the CRC-32 of `random` in 6 base62 characters, padded with zeros
 */
const secretPrefix = "psk_";
const randomLength = 30;
const checkLength = 6;
const secretShape = /^psk_[0-9A-Za-z]{36}$/;

/** Draws a new secret: what a client sends as its API key. */
export function mintSecret(randomBytes: RandomBytes): string {
  const random = drawBase62(randomLength, randomBytes);
  return secretPrefix + random + checkOf(random);
}

/**
 * Whether a text has the form of a secret, including its check characters. This finds mistyped keys without asking the
 * store. It does not tell whether the key exists.
 */
export function isSecret(text: string): boolean {
  return secretShape.test(text) && text.endsWith(checkOf(text.slice(secretPrefix.length, -checkLength)));
}

/** Whether a text may contain a secret, even a mistyped or truncated one. Such a text is never shown or logged. */
export function mayHoldSecret(text: string): boolean {
  return text.includes(secretPrefix);
}

/** The SHA-256 of a secret, in 32 bytes. Nothing else of a secret is stored. */
export function hashSecret(secret: string): Uint8Array {
  return hash("sha256", secret, "buffer");
}

function checkOf(random: string): string {
  return formatBase62(crc32(random), checkLength);
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * The largest multiple of 62 up to 256. Bytes from this value on are dropped: they would favour the alphabet's first
 * letters.
 */
const unbiasedBelow = 256 - (256 % alphabet.length);

/** A source of random bytes, fit for secrets: `randomBytes` of node:crypto. */
export type RandomBytes = (size: number) => Uint8Array;

/** Draws base62 characters (`0-9A-Za-z`), each of them equally likely. */
export function drawBase62(length: number, randomBytes: RandomBytes): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < unbiasedBelow) {
        text += alphabet.charAt(byte % alphabet.length);
      }
    }
  }
  return text;
}

/** Writes a non-negative integer in base62, the most significant digit first, padded with zeros. */
export function formatBase62(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / alphabet.length)) {
    text = alphabet.charAt(rest % alphabet.length) + text;
  }
  return text;
}
