import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

/*
 * secret = "psk_" random check
 * random = 30 base62 characters, some 178 bits
 * check  = the CRC-32 of `random` in 6 base62 characters, padded with zeros
 */
const prefix = "psk_";
const randomLength = 30;
const checkLength = 6;
const shape = /^psk_[0-9A-Za-z]{36}$/;

/** Draws a new secret: what a client sends as its API key. */
export function mintSecret(randomBytes: RandomBytes): string {
  const random = drawBase62(randomLength, randomBytes);
  return prefix + random + checkOf(random);
}

/**
 * Whether a text has the form of a secret, including its check characters. It finds mistyped keys without asking the
 * store; it does not say that the key exists.
 */
export function isSecret(text: string): boolean {
  return shape.test(text) && text.endsWith(checkOf(text.slice(prefix.length, -checkLength)));
}

/** Whether a text may contain a secret, even a mistyped or truncated one. Such a text is never shown or logged. */
export function mayHoldSecret(text: string): boolean {
  return text.includes(prefix);
}

/** The SHA-256 of a secret, in 32 bytes. Nothing else of a secret is stored. */
export function hashSecret(secret: string): Uint8Array {
  return hash("sha256", secret, "buffer");
}

function checkOf(random: string): string {
  return formatBase62(crc32(random), checkLength);
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The largest multiple of 62 that a byte can reach: bytes from there on would favour the alphabet's first letters. */
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
