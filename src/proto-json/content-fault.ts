/** A fault in the content of a request, and where it is. `reason` completes a sentence, such as "must be …". */
export class ContentFault extends Error {
  override readonly name = "ContentFault";
  /** Such as `items[2].quantity`; empty for the whole content. */
  readonly path: string;
  readonly reason: string;

  constructor(reason: string, path = "") {
    super(`${path}: ${reason}`);
    this.path = path;
    this.reason = reason;
  }
}

/** The same fault with the key of its object or array before its path. Other errors are returned as they are. */
export function faultWithin(error: unknown, key: string): unknown {
  if (!(error instanceof ContentFault)) {
    return error;
  }
  const separator = error.path === "" || error.path.startsWith("[") ? "" : ".";
  return new ContentFault(error.reason, `${key}${separator}${error.path}`);
}

/** The fault of a field that is given a second time, by its other name. */
export function givenUnderBothNames(otherName: string): ContentFault {
  return new ContentFault(`must not be given together with ${otherName}, which is the same field`);
}
