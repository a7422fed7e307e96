import { maskCredentials } from "../../domain/masking.ts";
import { argument } from "../parse/argument.ts";
import { fileName, type ValueType } from "./value-type.ts";

/** Where the store is, once `--db` and `--database` have become one: a file, or a URL, whose password is not shown. */
export const storeFile: ValueType<string> = { ...fileName, write: maskCredentials };

/** The URL of a store. */
export const databaseUrl: ValueType<string> = {
  placeholder: "<url>",
  parse: argument(
    (given) => (/^(sqlite:(?!(?i:postgres(ql)?:))[^\0]+|postgres(ql)?:\/\/[^\0]+)$/.test(given) ? given : undefined),
    "sqlite: and a file, or the URL of a PostgreSQL database, which begins with postgres://",
  ),
  write: maskCredentials,
  fileTypes: ["text"],
};
