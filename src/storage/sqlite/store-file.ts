import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** Why a file cannot be used as the store. The message is one line for the operator. */
export class StoreFileError extends Error {
  override readonly name = "StoreFileError";
}

/** Wraps any other error in a `StoreFileError` that names the file and the reason. */
export function toStoreFileError(error: unknown, file: string): StoreFileError {
  return error instanceof StoreFileError
    ? error
    : new StoreFileError(`${file}: ${reasonOf(error, file)}`, { cause: error });
}

/** Plainer than SQLite's own messages, and Node's. Source: https://sqlite.org/rescode.html */
const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied; the user that runs petstore must be able to read and write the file and its folder",
  SQLITE_NOTADB: "not a SQLite database",
  SQLITE_CANTOPEN:
    "cannot be opened; the user that runs petstore must be able to read and write the file and its folder",
  SQLITE_READONLY: "cannot be written; the user that runs petstore must be able to write the file and its folder",
};

const readOnlyMedia =
  "on read-only media, and a store needs files beside it that can be written; copy it, and the file that ends in -wal if there is one, to another folder, and name the copy";

function reasonOf(error: unknown, file: string): string {
  const { code = "", message } = error as Error & { readonly code?: string };
  const [primary = code] = /^SQLITE_[A-Z]+/.exec(code) ?? [];
  const mayBeReadOnly = ["EROFS", "SQLITE_CANTOPEN", "SQLITE_READONLY"].includes(primary);
  return mayBeReadOnly && isOnReadOnlyMedia(file) ? readOnlyMedia : (reasons[primary] ?? message);
}

function isOnReadOnlyMedia(file: string): boolean {
  try {
    accessSync(dirname(file), constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
}

/**
 * Returns the real path of a database file, without symbolic links. A missing file is created: empty, and readable by
 * its owner alone, who is the folder's owner where root creates it. Throws `StoreFileError`.
 */
export function resolveDatabase(file: string, ifMissing: "create" | "refuse"): string {
  try {
    return resolve(file, ifMissing);
  } catch (error) {
    throw toStoreFileError(error, file);
  }
}

function resolve(file: string, ifMissing: "create" | "refuse"): string {
  if (ifMissing === "create") {
    createIfMissing(file);
  } else if (isMissing(file)) {
    throw new StoreFileError(`${file}: there is no such store`);
  }
  if (!statSync(file).isFile()) {
    throw new StoreFileError(`${file}: not a file`);
  }
  const path = realpathSync(file);
  // The driver trims the name, and would open another file.
  if (path !== path.trim()) {
    throw new StoreFileError(`${file}: the name of a store must not end in white space`);
  }
  return path;
}

function isMissing(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) === undefined;
}

/**
 * Creates a missing database file, as `resolveDatabase` does. Returns whether this process has made it. Throws the file
 * system's errors, and `StoreFileError`.
 */
export function createIfMissing(file: string): boolean {
  if (!isMissing(file)) {
    return false;
  }
  makeFolderOf(file);
  return createFile(file);
}

/**
 * Returns whether this process has made the file, and not another one just before it.
 *
 * A file is opened here only if it is missing: closing a file drops all POSIX locks that this process holds on it.
 *
 * Where root runs a command first, the owner of the folder must be able to serve the store. Root gives away only a file
 * that it has just made under this name, and by its descriptor: the owner may replace a name at any time.
 */
function createFile(file: string): boolean {
  const { fd, isOwn } = openNew(file);
  try {
    if (isOwn && process.geteuid?.() === 0) {
      const { uid, gid } = statSync(dirname(file));
      fchownSync(fd, uid, gid);
    }
  } catch {
    // In a container root may lack the right, or the owner may be unknown. The file then stays root's.
  } finally {
    closeSync(fd);
  }
  return isOwn;
}

/** Opens a file that was missing. It is not this process's own where another one, or a symbolic link, was first. */
function openNew(file: string): { readonly fd: number; readonly isOwn: boolean } {
  try {
    return { fd: openSync(file, "ax", 0o600), isOwn: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw error;
    }
    return { fd: openSync(file, "a", 0o600), isOwn: false };
  }
}

function makeFolderOf(file: string): void {
  try {
    makeFolder(dirname(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === "EEXIST" || code === "ENOTDIR"
      ? new StoreFileError(`${file}: a file stands where its folder should be; name another path`)
      : error;
  }
}

/**
 * Makes a folder, and the folders above it. Node's own recursive `mkdir` takes ENOENT for a missing parent. It never
 * returns where the parent exists but takes no folders, such as /proc.
 */
function makeFolder(folder: string): void {
  if (isFolder(folder)) {
    return;
  }
  const parent = dirname(folder);
  if (parent !== folder) {
    makeFolder(parent);
  }
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!isFolder(folder)) {
      throw error;
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * As `resolveDatabase`, for a store that is to be written to. A file with a second name (a hard link) is refused:
 * SQLite keeps a log beside each name, and two logs corrupt the store. The second name that an interrupted restore has
 * left is accepted, since nobody opens it.
 *
 * Source: https://sqlite.org/howtocorrupt.html#_multiple_links_to_the_same_file
 */
export function resolveStore(file: string, ifMissing: "create" | "refuse"): string {
  const path = resolveDatabase(file, ifMissing);
  const names = statSync(path).nlink - (isSameFile(path, keptFileOf(path)) ? 1 : 0);
  if (names > 1) {
    throw new StoreFileError(`${file}: has ${names} names (hard links), and may have one; remove the others`);
  }
  return path;
}

/**
 * Remembers which file a path led to. When an open file is moved, deleted or replaced, SQLite goes on writing to the
 * old one, and what it writes is lost with the process.
 */
export class FileIdentity {
  readonly #path: string;
  readonly #opened: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#opened = identityOf(path);
  }

  /** Throws `StoreFileError` unless the path is known to lead to the same file as at first. */
  assertUnmoved(): void {
    try {
      if (identityOf(this.#path) !== this.#opened) {
        throw new StoreFileError(`${this.#path} is not the file that was opened: put that back, or start again`);
      }
    } catch (error) {
      throw toStoreFileError(error, this.#path);
    }
  }
}

/** The suffixes of the files that SQLite puts beside a database. Source: https://sqlite.org/tempfiles.html */
export const sqliteSuffixes = ["-wal", "-shm", "-journal"];

/** The lock file of the server that has the store. It is a database, too. */
export function lockFileOf(path: string): string {
  return `${path}.lock`;
}

/** The lock file that lets processes take the lock of the server one after another. It is a database, too. */
export function startLockFileOf(path: string): string {
  return `${path}.start.lock`;
}

/** The name under which a restore keeps the store that it replaces. */
export function keptFileOf(path: string): string {
  return `${path}.before-restore`;
}

/** Whether a name leads to the store at a real path, or to a file that may be made beside it. */
export function belongsToStore(name: string, path: string): boolean {
  const files = [path, lockFileOf(path), startLockFileOf(path), keptFileOf(path)];
  return files.flatMap((file) => [file, ...sqliteSuffixes.map((end) => file + end)]).includes(truePathOf(name));
}

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
function truePathOf(name: string): string {
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

/** Throws where `syncFolder` could not even open the folder: to be called before what takes long. */
export function assertSyncable(folder: string): void {
  closeSync(openSync(folder, "r"));
}

function sync(path: string, flags: "r+" | "r"): void {
  const descriptor = openSync(path, flags);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
