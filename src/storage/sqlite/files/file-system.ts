import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Whether something has this name already, be it a symbolic link to nothing. */
export function isTaken(name: string): boolean {
  return lstatSync(name, { throwIfNoEntry: false }) !== undefined;
}

/** Whether two names are of one file that exists, through symbolic and hard links. */
export function isSameFile(one: string, other: string): boolean {
  const identity = identityOf(one);
  return identity !== undefined && identity === identityOf(other);
}

/** What tells the file that a name leads to from all others; undefined where there is none. */
export function identityOf(name: string): string | undefined {
  const stats = statSync(name, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/**
 * The one true path of a file, or of one that is to be made. Throws the file system's errors where the folder is
 * missing.
 */
export function truePathOf(name: string): string {
  return existsSync(name) ? realpathSync(name) : join(realpathSync(dirname(name)), basename(name));
}
