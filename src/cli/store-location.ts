import type { Command } from "commander";
import { usageFailure } from "./failure.ts";

/** The sources of a value, as commander names them, from the weakest to the strongest; files have their own names. */
const strongest = ["cli", "env"];

/**
 * Makes one of `--db` and `--database`: the value of `db` becomes a file, or the URL of a PostgreSQL database. The
 * stronger source wins. Throws a `Failure` where both are given by the same one.
 */
export function chooseStore(program: Command): void {
  const { database } = program.opts<{ database?: string }>();
  if (database === undefined) {
    return;
  }
  const [ofFile, ofUrl] = [rankOf(program, "db"), rankOf(program, "database")];
  if (ofFile === ofUrl) {
    throw usageFailure(
      "--db is short for --database sqlite:FILE: give one of them, also by PETSTORE_DB and PETSTORE_DATABASE",
    );
  }
  if (ofUrl < ofFile) {
    program.setOptionValueWithSource("db", locationOf(database), program.getOptionValueSource("database"));
  }
}

/** Where a store is by its URL: a file, or the URL of a PostgreSQL database. */
export function locationOf(database: string): string {
  return database.startsWith("sqlite:") ? database.slice("sqlite:".length) : database;
}

/** Whether the store was chosen by `--database`. */
export function isChosenByUrl(program: Command): boolean {
  const { db, database } = program.opts<{ db?: string; database?: string }>();
  return database !== undefined && db === locationOf(database);
}

/** Lower for a stronger source. */
function rankOf(program: Command, name: string): number {
  const source = program.getOptionValueSource(name) ?? "default";
  const known = strongest.indexOf(source);
  return known >= 0 ? known : source === "default" ? strongest.length + 1 : strongest.length;
}
