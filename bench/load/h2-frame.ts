/** The frame types that the generator needs. Source: https://www.rfc-editor.org/rfc/rfc9113#section-6 */
export const frameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
} as const;

/** Source: https://www.rfc-editor.org/rfc/rfc9113#section-6 */
export const frameFlag = { ack: 0x1, endStream: 0x1, endHeaders: 0x4 } as const;

/** The bytes before a frame's payload. */
export const frameHeadBytes = 9;

export interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
}

export function encodeFrame({ type, flags, streamId }: FrameHead, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(frameHeadBytes + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(streamId, 5);
  frame.set(payload, frameHeadBytes);
  return frame;
}

const greatestWindow = 0x7fff_ffff;
const initialWindow = 65_535;

/** What a client sends first: windows large enough for everything, and no pushes. */
export function encodePreface(): Buffer {
  const settings = Buffer.alloc(12);
  settings.writeUInt16BE(0x2, 0); // ENABLE_PUSH
  settings.writeUInt32BE(0, 2);
  settings.writeUInt16BE(0x4, 6); // INITIAL_WINDOW_SIZE
  settings.writeUInt32BE(greatestWindow, 8);
  const increment = Buffer.alloc(4);
  increment.writeUInt32BE(greatestWindow - initialWindow);
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    encodeFrame({ type: frameType.settings, flags: 0, streamId: 0 }, settings),
    encodeFrame({ type: frameType.windowUpdate, flags: 0, streamId: 0 }, increment),
  ]);
}
