/** Writes parts of header blocks byte by byte. Source: https://www.rfc-editor.org/rfc/rfc7541#section-6 */

/** An integer behind the bits of `pattern`, in a prefix of so many bits. Source: RFC 7541, section 5.1 */
export function integer(pattern: number, prefixBits: number, value: number): Buffer {
  const max = 2 ** prefixBits - 1;
  if (value < max) {
    return Buffer.of(pattern | value);
  }
  const bytes = [pattern | max];
  let rest = value - max;
  for (; rest >= 128; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) | 128);
  }
  return Buffer.from([...bytes, rest]);
}

/** A text without Huffman's code. */
export function text(value: string): Buffer {
  return Buffer.concat([integer(0, 7, Buffer.byteLength(value, "latin1")), Buffer.from(value, "latin1")]);
}

/** A field of either table. */
export function indexed(index: number): Buffer {
  return integer(0x80, 7, index);
}

/** A new field that goes to the table. A number as its name is the index of one that has it. */
export function added(name: string | number, value: string): Buffer {
  return typeof name === "number"
    ? Buffer.concat([integer(0x40, 6, name), text(value)])
    : Buffer.concat([Buffer.of(0x40), text(name), text(value)]);
}

/** A new field that leaves the table alone. */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}

/** A change of the size of the table. */
export function tableSize(bytes: number): Buffer {
  return integer(0x20, 5, bytes);
}
