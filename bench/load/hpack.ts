/**
 * The header block of a request that is sent over and over. The first one on a connection puts each field into the
 * server's dynamic table; all later ones are one byte a field, as those of real clients are.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc7541#section-6
 */
export function encodeHeaders(fields: readonly [name: string, value: string][]): { first: Buffer; later: Buffer } {
  const literals = fields.map(([name, value]) => [Buffer.of(0x40), encodeString(name), encodeString(value)]);
  // The static table has 61 entries; the field that came last is the first of the dynamic one.
  const indices = fields.map((_field, position) => 0x80 | (61 + fields.length - position));
  return { first: Buffer.concat(literals.flat()), later: Buffer.from(indices) };
}

/** A string of fewer than 127 bytes, without Huffman coding. */
function encodeString(text: string): Buffer {
  if (text.length >= 127) {
    throw new RangeError(`too long for one byte of length: ${text}`);
  }
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text, "latin1")]);
}
