import { setTimeout } from "node:timers/promises";
import type { RegisteredServer, RegistrationOptions, ServerRegistration } from "../../domain/store.ts";
import { retireForgottenWriters } from "./change-tokens.ts";
import { type Connection, type Queryable, registrationLock } from "./connection/connection.ts";
import { DatabaseError, parseDatabaseUrl } from "./connection/database-url.ts";
import { sharedSessions } from "./connection/errors.ts";
import type { Pool } from "./connection/pool.ts";
import type { Value } from "./connection/values.ts";
import { identify, lookInto } from "./database.ts";

/** How often a server sends a heartbeat, in milliseconds. */
const heartbeatMs = 1_000;

/**
 * A server that has sent no heartbeat for this long, in milliseconds, counts as ended. Its successor waits for this
 * long.
 */
const silenceMs = 6_000;

/** Servers that have ended are forgotten after this time. */
const remembered = "1 hour";

interface RegisteringOptions extends RegistrationOptions {
  readonly clock: DatabaseClock;
}

interface ServerRow {
  readonly id: string;
  readonly version: string;
  readonly started_at_ms: bigint;
  readonly last_seen_at_ms: bigint;
}

const columns = `id, version, (extract(epoch FROM started_at) * 1000)::bigint AS started_at_ms,
  (extract(epoch FROM last_seen_at) * 1000)::bigint AS last_seen_at_ms`;

const isAlive = `last_seen_at > clock_timestamp() - interval '${silenceMs} milliseconds'`;

/** The servers that live or were killed lately, in the order of their starts. */
export async function listServers(connection: Queryable): Promise<RegisteredServer[]> {
  const rows = await connection.query<ServerRow>(
    `SELECT ${columns} FROM servers WHERE last_seen_at > clock_timestamp() - interval '${remembered}' ORDER BY started_at, id`,
  );
  return rows.map(serverFromRow);
}

/**
 * A server that uses the store. Undefined where all have ended. A server that was killed counts as alive for the time
 * of `silenceMs`.
 */
export async function findLivingServer(connection: Queryable): Promise<RegisteredServer | undefined> {
  const [row] = await connection.query<ServerRow>(`SELECT ${columns} FROM servers WHERE ${isAlive} LIMIT 1`);
  return row && serverFromRow(row);
}

/**
 * As `listServers`, by the URL of the database. Unlike opening the store, this migrates nothing, and works on a
 * replica. Throws `DatabaseError`.
 */
export function listServersAt(url: string): Promise<RegisteredServer[]> {
  const address = parseDatabaseUrl(url);
  return lookInto(address, async (connection) => {
    if ((await identify(connection, address)) === 0) {
      throw new DatabaseError(`${address.shown}: there is no such store`);
    }
    return listServers(connection);
  });
}

/** A heartbeat of a rival, and when this process has seen it first, by `performance.now()`. */
interface Heartbeat {
  readonly atMs: number;
  readonly seenAtMs: number;
}

/**
 * Registers a server under an id of its own. Where this server or another one counts limits alone, the other one must
 * have ended. So this waits until the other one sends a heartbeat, or counts as ended. Throws `DatabaseError` if it
 * sends a heartbeat.
 */
export async function registerServer(
  pool: Pool,
  { id, shown }: { readonly id: string; readonly shown: string },
  registration: RegistrationOptions,
): Promise<ServerRegistration> {
  const options = { ...registration, clock: new DatabaseClock() };
  /** The last heartbeats of the rivals, by their ids. */
  const heartbeats = new Map<string, Heartbeat>();
  for (;;) {
    const rivals = await pool.transaction((connection) => tryToRegister(connection, id, options, heartbeats));
    if (rivals.length === 0) {
      return keepAlive(pool, id, options);
    }
    for (const rival of rivals) {
      const known = heartbeats.get(rival.id);
      if (known !== undefined && known.atMs !== rival.lastSeenAtMs) {
        throw new DatabaseError(
          `${shown}: server ${rival.id} uses it already, and limits that are counted in memory take one server; end that one first`,
        );
      }
      heartbeats.set(rival.id, known ?? { atMs: rival.lastSeenAtMs, seenAtMs: performance.now() });
    }
    await setTimeout(heartbeatMs / 2);
  }
}

/**
 * Throws `DatabaseError` where a pooler pools transactions: then two open sessions meet one process of the database.
 * Such a pooler may pass on prepared statements, but it mixes the settings of sessions. A busy one may go unnoticed.
 */
export async function assertOwnSessions(pool: Pick<Pool, "use">, shown: string): Promise<void> {
  const processOf = async (connection: Queryable) => {
    const [row] = await connection.query<{ pid: number }>(`SELECT pg_backend_pid() AS pid`);
    return row?.pid;
  };
  await pool.use((one) =>
    pool.use(async (other) => {
      if ((await processOf(one)) === (await processOf(other))) {
        throw new DatabaseError(`${shown}: ${sharedSessions}`);
      }
    }),
  );
}

/** Whether a rival has sent no heartbeat since a known one. The database's clock may have been set back since. */
function isSilent(rival: RegisteredServer, known: Heartbeat | undefined): boolean {
  return known?.atMs === rival.lastSeenAtMs && performance.now() - known.seenAtMs >= silenceMs;
}

/** Registers a server, unless others prevent it. Returns these, or none after the registration. */
async function tryToRegister(
  connection: Connection,
  id: string,
  options: RegisteringOptions,
  heartbeats: ReadonlyMap<string, Heartbeat> = new Map(),
): Promise<RegisteredServer[]> {
  const { countsAlone } = options;
  await connection.query(`SELECT pg_advisory_xact_lock($1)`, registrationLock);
  const rows = await connection.query<ServerRow>(
    `SELECT ${columns} FROM servers WHERE (counts_alone OR $1) AND ${isAlive}`,
    countsAlone,
  );
  const rivals = rows.map(serverFromRow);
  const living = rivals.filter((rival) => !isSilent(rival, heartbeats.get(rival.id)));
  if (living.length > 0) {
    return living;
  }
  // A silent server that counts alone may still run. When it finds that its row is gone, it ends.
  await connection.query(
    `DELETE FROM servers
     WHERE ((counts_alone OR $1) AND NOT ${isAlive}) OR id = ANY ($2)
       OR last_seen_at < clock_timestamp() - interval '${remembered}'`,
    countsAlone,
    rivals.map((rival) => rival.id),
  );
  await insertServer(connection, id, options);
  await retireForgottenWriters(connection);
  return [];
}

async function insertServer(
  connection: Queryable,
  id: string,
  { version, countsAlone, clock }: RegisteringOptions,
): Promise<void> {
  await write(
    connection,
    clock,
    `INSERT INTO servers (id, version, counts_alone, started_at, last_seen_at)
     VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp()) ON CONFLICT (id) DO NOTHING`,
    id,
    version,
    countsAlone,
  );
}

/** Writes the row of a server, and learns the database's time from it. Returns whether a row was written. */
async function write(connection: Queryable, clock: DatabaseClock, sql: string, ...values: Value[]): Promise<boolean> {
  const askedAtMs = performance.now();
  const [row] = await connection.query<{ shown_us: bigint }>(
    `${sql} RETURNING (extract(epoch FROM last_seen_at) * 1000000)::bigint AS shown_us`,
    ...values,
  );
  if (row !== undefined) {
    clock.learn(Number(row.shown_us) / 1_000, askedAtMs, performance.now());
  }
  return row !== undefined;
}

function keepAlive(pool: Pool, id: string, options: RegisteringOptions): ServerRegistration {
  const { countsAlone, replaced, clock } = options;
  let sending: Promise<void> | undefined;
  /** After a long silence the server's row was deleted, maybe by a server that counts limits alone. */
  async function registerAgain(): Promise<boolean> {
    const rivals = await pool.transaction((connection) => tryToRegister(connection, id, options));
    return rivals.length === 0;
  }
  async function sendHeartbeat(): Promise<void> {
    try {
      const isKnown = await write(pool, clock, `UPDATE servers SET last_seen_at = clock_timestamp() WHERE id = $1`, id);
      if (!isKnown && (countsAlone || !(await registerAgain()))) {
        clearInterval(timer);
        replaced();
      }
    } catch {
      // The database cannot be reached. The next heartbeat tries again.
    }
  }
  const timer = setInterval(() => {
    sending ??= sendHeartbeat().finally(() => {
      sending = undefined;
    });
  }, heartbeatMs);
  return {
    id,
    clock: clock.now,
    async release() {
      clearInterval(timer);
      // A heartbeat after the deletion would find that the server is gone.
      await sending;
      await pool.query(`DELETE FROM servers WHERE id = $1`, id).catch(() => {});
    },
  };
}

function serverFromRow(row: ServerRow): RegisteredServer {
  return {
    id: row.id,
    version: row.version,
    startedAtMs: Number(row.started_at_ms),
    lastSeenAtMs: Number(row.last_seen_at_ms),
  };
}

/**
 * Asks the database for its time, in milliseconds since the Unix epoch. As an integer, because the text of a `float8`
 * depends on the database's `extra_float_digits`.
 */
export async function readClock(connection: Queryable): Promise<number> {
  const [row] = await connection.query<{ now_ms: bigint }>(
    `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms`,
  );
  return Number(row?.now_ms ?? Number.NaN);
}

/**
 * The database's clock, as a server knows it from the database's answers. All servers use it, so that they agree
 * whether a hold or a key is over, whatever the clocks of their machines show.
 *
 * The database reads its clock at an unknown moment of a round trip. So an answer gives two bounds for the time: the
 * clock moves only as far as it is out of these bounds. A slow answer has wide bounds, and hardly moves the clock.
 */
export class DatabaseClock {
  /** How far the clock is ahead of `performance.now()`, in milliseconds. */
  #aheadMs: number | undefined;

  /** The time in milliseconds since the Unix epoch. */
  readonly now = (): number => Math.round(performance.now() + (this.#aheadMs ?? performance.timeOrigin));

  /**
   * Takes a time that the database's clock has shown between a question and its answer. The times of these two are of
   * `performance.now()`.
   */
  learn(shownMs: number, askedAtMs: number, answeredAtMs: number): void {
    const [least, most] = [shownMs - answeredAtMs, shownMs - askedAtMs];
    this.#aheadMs = Math.min(Math.max(this.#aheadMs ?? (least + most) / 2, least), most);
  }
}
