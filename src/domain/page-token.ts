import { crc32 } from "node:zlib";
import { invalidPageToken } from "./errors.ts";

/** A place in a list: after which id the next page begins, and of which list and filter. */
export interface PagePosition {
  /** The list's name: a token of one list is not valid for another. */
  readonly list: string;
  /** The filter. Their order, and repeated ones, make no difference. */
  readonly statuses: readonly string[];
  readonly after: bigint;
}

/*
 * token = base64url( version:1 check:4 after:8 ), the numbers big-endian
 * check = the CRC-32 of the list, the filter and the id, so that the token need not carry the first two
 */
const version = 1;
const byteLength = 13;

/** Makes the opaque token that leads to a page. */
export function issuePageToken(position: PagePosition): string {
  const bytes = Buffer.alloc(byteLength);
  bytes.writeUInt8(version, 0);
  bytes.writeUInt32BE(checkOf(position), 1);
  bytes.writeBigInt64BE(position.after, 5);
  return bytes.toString("base64url");
}

/**
 * Reads after which id the page begins. Throws `INVALID_PAGE_TOKEN` for whatever was not issued, letter by letter, for
 * this list and filter.
 */
export function parsePageToken(token: string, belongsTo: Omit<PagePosition, "after">): bigint {
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length !== byteLength) {
    throw invalidPageToken();
  }
  const after = bytes.readBigInt64BE(5);
  if (issuePageToken({ ...belongsTo, after }) !== token) {
    throw invalidPageToken();
  }
  return after;
}

function checkOf({ list, statuses, after }: PagePosition): number {
  const filter = [...new Set(statuses)].sort();
  return crc32(JSON.stringify([list, filter, after.toString()]));
}
