/**
 * The header block of a request that is sent repeatedly. The first one on a connection adds each field to the server's
 * dynamic table; all later ones take one byte a field, as with real clients.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc7541#section-6
 */
export function encodeHeaders(fields: readonly [name: string, value: string][]): { first: Buffer; later: Buffer } {
  const literals = fields.map(([name, value]) => [Buffer.of(0x40), encodeString(name), encodeString(value)]);
  // The static table has 61 entries. The newest field is the first of the dynamic table.
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
