import { onTestFinished } from "vitest";
import type { Store } from "../../../src/domain/store.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { borrowDatabase, clusterPort, runSql } from "../../support/postgres/databases.ts";
import { DatabaseProxy } from "../../support/postgres/proxy.ts";
import { createPet, setStock } from "../samples.ts";

/** A store behind a proxy, and another one that reaches the same database at `url`. The pets 1 and 2 have 10 each. */
export async function openBehindProxy(): Promise<{ proxied: Store; direct: Store; proxy: DatabaseProxy; url: string }> {
  const database = await borrowDatabase();
  const proxy = await DatabaseProxy.start(await clusterPort());
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const [proxied, direct] = [await openPostgresStore(url.href), await openPostgresStore(database.url)];
  onTestFinished(async () => {
    proxy.thaw();
    proxy.release();
    await proxy.close();
    await Promise.all([proxied.close(), direct.close()]);
    await database.remove();
  });
  await direct.importAll({ pets: [1n, 2n].map((id) => createPet({ id, quantity: 10n })) }, 0);
  await setStock(proxied, 2n, 10n);
  return { proxied, direct, proxy, url: database.url };
}

/** Whether bytes of a client commit a transaction that has written, or are the first on a connection to do so at once. */
export function commits(bytes: Buffer): boolean {
  return bytes.includes("COMMIT") || bytes.includes("INSERT INTO changes");
}

/** Has the proxy hold commits back. Resolves when it holds the first one. */
export function holdCommits(proxy: DatabaseProxy): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.decide = (bytes) => {
    if (!commits(bytes)) {
      return "pass";
    }
    resolve();
    return "hold";
  };
  return promise;
}

/** How many connections to a database have last run a statement that commits changes at once. */
export async function countChangedAtOnce(url: string): Promise<number> {
  const [changed] = await runSql(
    url,
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'idle' AND query LIKE '%WITH asked AS%' AND pid <> pg_backend_pid()`,
  );
  return changed?.rows.length ?? 0;
}

/** How many connections to a database wait for a lock. */
export async function countWaiting(url: string): Promise<number> {
  const [waiting] = await runSql(
    url,
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return waiting?.rows.length ?? 0;
}

/** The pet of each change behind those of `openBehindProxy`, with the quantities before and after it. */
export async function historyOf(store: Store) {
  const { changes } = await store.listChanges({ after: 3n, petIds: [], newestFirst: false, limit: 100 });
  return changes.map(({ petId, before, after }) => [petId, before, after]);
}

/** What PgBouncer answers when it loses the database. */
export const lostBehindPooler = errorResponse("08P01", "server conn crashed?");

/** Source: https://www.postgresql.org/docs/15/protocol-message-formats.html, ErrorResponse */
function errorResponse(code: string, message: string): Buffer {
  const fields = Buffer.from(`SERROR\0VERROR\0C${code}\0M${message}\0\0`);
  const head = Buffer.from("E    ");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
