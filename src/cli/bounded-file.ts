import { closeSync, openSync, readSync } from "node:fs";
import { writeByteSize } from "./arguments.ts";
import { Failure, systemFailure } from "./failure.ts";

/** The largest file of settings, certificates or keys, in bytes. */
const maxBytes = 1024 * 1024;

/** Reads a small file, or a pipe. Throws a `Failure` if it cannot be read, or is larger than 1 MiB. */
export function readSmallFile(file: string): string {
  const bytes = Buffer.allocUnsafe(maxBytes + 1);
  const size = fill(bytes, file);
  if (size > maxBytes) {
    throw new Failure(`cannot read ${file}: it is larger than ${writeByteSize(maxBytes)}`);
  }
  return bytes.toString("utf8", 0, size);
}

/** Reads until the file ends, or the buffer is full. Returns the number of bytes. */
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
