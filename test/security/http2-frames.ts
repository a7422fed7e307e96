/** What every client of HTTP/2 begins with. Source: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The types of frames, by their names. Source: https://www.rfc-editor.org/rfc/rfc9113#section-6 */
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
  unknown: 0xbb,
} as const;

export const endStream = 1;
export const endHeaders = 4;

/** A frame to be written to a bare socket; `flags` are added up. */
export function frame(
  type: keyof typeof frameTypes,
  { flags = 0, stream = 0, payload = Buffer.alloc(0) }: { flags?: number; stream?: number; payload?: Uint8Array } = {},
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(frameTypes[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The preface, the settings that must follow it, and more frames. */
export function openingWith(...frames: readonly Buffer[]): Buffer {
  return Buffer.concat([preface, frame("settings"), ...frames]);
}

/** A block of headers without any compression, as no client library would send them. Source: RFC 7541, 6.2.2. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]),
  );
}

/** A string, whose length takes several bytes past 126. Source: RFC 7541, 5.1 and 5.2. */
function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const length = bytes.length < 127 ? [bytes.length] : [127, ...continued(bytes.length - 127)];
  return Buffer.concat([Buffer.from(length), bytes]);
}

function continued(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...continued(value >>> 7)];
}

/** A request that has ended with its headers; stream 1 by default, which is a client's first. */
export function requestFrame(headers: Readonly<Record<string, string>>, stream = 1): Buffer {
  const block = headerBlock({ ":method": "GET", ":scheme": "http", ":authority": "x", ...headers });
  return frame("headers", { flags: endHeaders | endStream, stream, payload: block });
}
