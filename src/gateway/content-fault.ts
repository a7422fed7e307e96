import { ProtocolError } from "../http/protocol-error.ts";

/** What is wrong with a part of the request's content, and where. `reason` completes "… must be …". */
export class ContentFault extends Error {
  override readonly name = "ContentFault";
  /** Such as `items[2].quantity`; empty for the whole. */
  readonly path: string;
  readonly reason: string;

  constructor(reason: string, path = "") {
    super(`${path}: ${reason}`);
    this.path = path;
    this.reason = reason;
  }
}

/** The same fault, seen from the object or array that holds the part. Other errors are returned as they are. */
export function faultWithin(error: unknown, key: string): unknown {
  if (!(error instanceof ContentFault)) {
    return error;
  }
  const separator = error.path === "" || error.path.startsWith("[") ? "" : ".";
  return new ContentFault(error.reason, `${key}${separator}${error.path}`);
}

/** The error that the client sees; `whole` names what the fault is in when it has no path. */
export function malformed(error: unknown, whole: string): unknown {
  if (!(error instanceof ContentFault)) {
    return error;
  }
  const subject = error.path === "" ? whole : `${error.path}:`;
  return new ProtocolError("malformed", `${subject} ${error.reason}.`);
}
