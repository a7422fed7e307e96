import { truePathOf } from "./file-system.ts";

/** How the names of the files end that SQLite puts beside a database. Source: https://sqlite.org/tempfiles.html */
export const sqliteSuffixes = ["-wal", "-shm", "-journal"];

/** The lock of the server that has a store, which is a database as well. */
export function lockFileOf(path: string): string {
  return `${path}.lock`;
}

/** What a restore keeps the store as that it replaces. */
export function keptFileOf(path: string): string {
  return `${path}.before-restore`;
}

/** Whether a name is that of a store, given by its true path, or of a file that may come to stand beside it. */
export function belongsToStore(name: string, path: string): boolean {
  const files = [path, lockFileOf(path), keptFileOf(path)];
  return files.flatMap((file) => [file, ...sqliteSuffixes.map((end) => file + end)]).includes(truePathOf(name));
}
