import { closeSync, existsSync, fsyncSync, lstatSync, openSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Whether anything has this name, even a symbolic link to nothing. */
export function isTaken(name: string): boolean {
  return lstatSync(name, { throwIfNoEntry: false }) !== undefined;
}

/** Whether two names lead to the same existing file, through symbolic and hard links. */
export function isSameFile(one: string, other: string): boolean {
  const identity = identityOf(one);
  return identity !== undefined && identity === identityOf(other);
}

/** Identifies the file that a name leads to; undefined where there is none. */
export function identityOf(name: string): string | undefined {
  const stats = statSync(name, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/** The real path of a file that exists, or that is to be made in an existing folder. Throws the file system's errors. */
export function truePathOf(name: string): string {
  return existsSync(name) ? realpathSync(name) : join(realpathSync(dirname(name)), basename(name));
}

/** Syncs the content of a file to disk. Throws the file system's errors. */
export function syncFile(file: string): void {
  sync(file, "r+");
}

/** Syncs the names in a folder to disk: a new name is durable only then. Throws as `syncFile`. */
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
