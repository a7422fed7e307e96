/** Why a file cannot be used as the store. The message is one line for the operator. */
export class StoreFileError extends Error {
  override readonly name = "StoreFileError";
}

/** Wraps any other error in a `StoreFileError` that names the file and the reason. */
export function toStoreFileError(error: unknown, file: string): StoreFileError {
  return error instanceof StoreFileError ? error : new StoreFileError(`${file}: ${reasonOf(error)}`, { cause: error });
}

/** Plainer than SQLite's own messages. Source: https://sqlite.org/rescode.html */
const reasons: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: "not a SQLite database",
  SQLITE_CANTOPEN: "cannot be opened; see that whoever runs this may read and write it, and its folder",
  SQLITE_READONLY: "cannot be written; see that whoever runs this may write to it, and to its folder",
};

function reasonOf(error: unknown): string {
  const { code = "", message } = error as Error & { readonly code?: string };
  const [primary = ""] = /^SQLITE_[A-Z]+/.exec(code) ?? [];
  return reasons[primary] ?? message;
}
