import { statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { storeUnavailable } from "../../domain/errors.ts";
import type { StoreSpace } from "../../domain/store.ts";

/** Measures a store, given by the path of its file, and the file system that it is on. Rejects with `UNAVAILABLE`. */
export async function measureSpace(path: string): Promise<StoreSpace> {
  try {
    const { bsize, blocks, bavail } = await statfs(dirname(path));
    return {
      dataBytes: sizeOf(path),
      logBytes: sizeOf(`${path}-wal`),
      // What is kept for the superuser is not free for a server.
      freeBytes: bavail * bsize,
      capacityBytes: blocks * bsize,
    };
  } catch (error) {
    throw storeUnavailable(error);
  }
}

/** 0 for a file that is not there. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
