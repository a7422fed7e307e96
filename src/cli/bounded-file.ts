import { closeSync, openSync, readSync } from "node:fs";
import { Failure, systemFailure } from "./failure.ts";
import { writeByteSize } from "./parse/number.ts";

/** The size of the largest file of settings, certificates or keys that is read. */
const maxBytes = 1024 * 1024;

/** Reads all of a small file, which may also be a pipe. Throws a `Failure`, for one of more than 1 MiB too. */
export function readSmallFile(file: string): string {
  const bytes = Buffer.allocUnsafe(maxBytes + 1);
  const size = fill(bytes, file);
  if (size > maxBytes) {
    throw new Failure(`cannot read ${file}: it is larger than ${writeByteSize(maxBytes)}`);
  }
  return bytes.toString("utf8", 0, size);
}

/** Reads until the end of the file, or of the bytes. Returns how many it has read. */
function fill(bytes: Buffer, file: string): number {
  try {
    const descriptor = openSync(file, "r");
    try {
      let size = 0;
      for (let read = -1; read !== 0; size += read) {
        read = readSync(descriptor, bytes, size, bytes.length - size, null);
      }
      return size;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw systemFailure(`read ${file}`, error);
  }
}
