import { truePathOf } from "./file-system.ts";

/** The suffixes of the files that SQLite puts beside a database. Source: https://sqlite.org/tempfiles.html */
export const sqliteSuffixes = ["-wal", "-shm", "-journal"];

/** The lock file of the server that has the store. It is a database, too. */
export function lockFileOf(path: string): string {
  return `${path}.lock`;
}

/** The name under which a restore keeps the store that it replaces. */
export function keptFileOf(path: string): string {
  return `${path}.before-restore`;
}

/** Whether a name leads to the store at a real path, or to a file that may be made beside it. */
export function belongsToStore(name: string, path: string): boolean {
  const files = [path, lockFileOf(path), keptFileOf(path)];
  return files.flatMap((file) => [file, ...sqliteSuffixes.map((end) => file + end)]).includes(truePathOf(name));
}
