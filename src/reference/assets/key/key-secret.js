const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Whether a text has the form of an API key: `psk_`, 30 characters, and their CRC-32 in 6. This detects a mistyped key
 * without a request. It does not prove that the key exists.
 */
export function isSecret(text) {
  const [, random, check] = /^psk_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/.exec(text) ?? [];
  return random !== undefined && check === writeBase62(crc32(random), 6);
}

function writeBase62(number, length) {
  let digits = "";
  for (let left = number; digits.length < length; left = Math.floor(left / 62)) {
    digits = alphabet[left % 62] + digits;
  }
  return digits;
}

/** Source: RFC 1952, 8 */
function crc32(text) {
  let crc = 0xffffffff;
  for (const character of text) {
    crc ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    }
  }
  return (crc ^ 0xffffffff) >>> 0;
}
