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
