import type { ReportProgress } from "../../domain/store/store-maintenance.ts";
import type { Connection } from "./connection/connection.ts";
import { DatabaseError } from "./connection/database-error.ts";
import { parseDatabaseUrl } from "./connection/database-url.ts";
import { identify, withConnection } from "./database.ts";
import { invariants } from "./invariants.ts";

/** The most faults of one kind that are reported. */
const maxFaults = 100;

/**
 * Looks for faults in a store: for rows that break what the service relies on. Returns a line for each fault, and
 * changes nothing. All rules see the same moment, whatever others write. The pages are PostgreSQL's own: `pg_amcheck`
 * verifies them. Throws `DatabaseError` when the database cannot be read as a store at all.
 */
export function checkDatabase(url: string, report?: ReportProgress): Promise<string[]> {
  const address = parseDatabaseUrl(url);
  return withConnection(address, async (connection) => {
    if ((await identify(connection, address)) === 0) {
      throw new DatabaseError(`${address.shown}: empty, and no store yet`);
    }
    return connection.transaction(
      () => findFaults(connection, report),
      "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    );
  });
}

async function findFaults(connection: Connection, report?: ReportProgress): Promise<string[]> {
  const faults: string[] = [];
  for (const [done, sql] of invariants.entries()) {
    report?.(done, invariants.length);
    const rows = await connection.query<{ fault: string }>(`${sql} LIMIT ${maxFaults}`);
    faults.push(...rows.map(({ fault }) => fault));
  }
  report?.(invariants.length, invariants.length);
  return faults;
}
