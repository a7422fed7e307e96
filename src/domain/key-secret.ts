import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { drawBase62, formatBase62, type RandomBytes } from "./base62.ts";

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
