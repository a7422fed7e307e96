/** The terms of HTTP/2. Source: https://www.rfc-editor.org/rfc/rfc9113 */

/** The first bytes that every client sends. Source: RFC 9113, section 3.4 */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The types of frames. Source: RFC 9113, section 6 */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** The flags of frames. `ack` is that of SETTINGS and PING. */
export const Flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

/** The settings that the server sends or obeys. Source: RFC 9113, section 6.5.2 */
export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** Why a stream is reset, or a connection ended. Source: RFC 9113, section 7 */
export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** The length of a frame's head, in bytes. */
export const headBytes = 9;

/**
 * The default of SETTINGS_MAX_FRAME_SIZE, in bytes. Neither side sends a larger payload.
 * Source: RFC 9113, section 6.5.2
 */
export const defaultFrameBytes = 16_384;

/** The initial window of a connection or a stream, in bytes. Source: RFC 9113, section 6.9.2 */
export const defaultWindow = 65_535;

/** The largest window, in bytes. Source: RFC 9113, section 6.9.1 */
export const maxWindow = 0x7fff_ffff;

/** An error that ends the connection. The message says what the client did; GOAWAY carries it. */
export class ConnectionError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
