import { closeSync, fsyncSync, openSync } from "node:fs";

/** Puts on disk what was written to a file. Throws the file system's errors. */
export function syncFile(file: string): void {
  sync(file, "r+");
}

/** Puts on disk which names a folder has: a new name is there only when its folder is. Throws as `syncFile`. */
export function syncFolder(folder: string): void {
  sync(folder, "r");
}

function sync(path: string, flags: "r+" | "r"): void {
  const descriptor = openSync(path, flags);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
