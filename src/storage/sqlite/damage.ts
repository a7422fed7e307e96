/** A row holds what is never written: the file is damaged, and SQLite does not see it. */
export class DamagedRowError extends Error {
  override readonly name = "DamagedRowError";
}

/*
 * SQLite holds types and statuses to the rules of their table when it writes, and not when it reads.
 */

/** Throws `DamagedRowError`. */
export function readInteger(value: unknown): bigint {
  if (typeof value !== "bigint") {
    throw new DamagedRowError("a row has no integer in the place of one");
  }
  return value;
}

/** Throws `DamagedRowError`. */
export function readStatus<Status extends string>(value: string, statuses: readonly Status[]): Status {
  const status = value as Status;
  if (!statuses.includes(status)) {
    throw new DamagedRowError("a row has a status that there is not");
  }
  return status;
}

/** For rows that are asked for by ascending id, as their tables have them. Throws `DamagedRowError`. */
export function assertAscending(rows: readonly { readonly id: bigint }[]): void {
  for (let index = 1; index < rows.length; index++) {
    if ((rows[index - 1] as { id: bigint }).id >= (rows[index] as { id: bigint }).id) {
      throw new DamagedRowError("rows are not in the order of their ids");
    }
  }
}
