import { crc32 } from "node:zlib";
import { invalidPageToken } from "./errors.ts";

/** A position in a list with a filter: the next page begins after an id. */
export interface PagePosition {
  /** The list's name: a token of one list is not valid for another. */
  readonly list: string;
  /** The filter. Order and repetition make no difference. */
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
 * Returns the id after which the page begins. Throws `INVALID_PAGE_TOKEN` for any token that was not issued, letter by
 * letter, for this list and filter.
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
