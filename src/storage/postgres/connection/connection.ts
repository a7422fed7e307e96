import type { Duplex } from "node:stream";
import pg from "pg";
import type { DatabaseAddress } from "./database-url.ts";
import { LostConnectionError, ReplicaError, readOnlyTransaction, sqlStateOf } from "./errors.ts";
import { encode, types, type Value } from "./values.ts";

/** What runs statements. */
export interface Queryable {
  /** Runs one statement, which is prepared once for each connection. Returns its rows. */
  query<Row = unknown>(sql: string, ...values: Value[]): Promise<Row[]>;
}

/** How long to wait for a connection, in milliseconds. */
export const connectTimeoutMs = 5_000;

interface OpenOptions {
  /** False for a connection that can take `COPY`. */
  readonly isPipelined: boolean;
  /** Whether the server may be a replica. Its reads are late, and it takes no writes. */
  readonly takesReplica: boolean;
  readonly timeoutMs: number;
}

/**
 * A connection to a database. Statements that are sent without waiting for one another share a round trip; a failed one
 * leaves the later ones to run, unless a transaction is open.
 */
export class Connection implements Queryable {
  readonly #client: pg.Client;
  readonly #lost = Promise.withResolvers<Error>();
  #isLost = false;
  #cutReason: string | undefined;
  #isCorked = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on("error", (error) => this.#lose(error));
    client.on("end", () => this.#lose(new Error("the database has closed the connection")));
  }

  /** Throws the driver's and the system's errors, and `ReplicaError`. */
  static async open(
    address: DatabaseAddress,
    { isPipelined = true, takesReplica = false, timeoutMs = connectTimeoutMs }: Partial<OpenOptions> = {},
  ): Promise<Connection> {
    const deadline = performance.now() + timeoutMs;
    try {
      return await Connection.#connect(address, { isPipelined, takesReplica, timeoutMs });
    } catch (error) {
      const restMs = deadline - performance.now();
      if (!address.isTlsOptional || !mayBeForTls(error) || restMs <= 0) {
        throw error;
      }
      return await Connection.#connect({ ...address, tls: false }, { isPipelined, takesReplica, timeoutMs: restMs });
    }
  }

  static async #connect(
    address: DatabaseAddress,
    { isPipelined, takesReplica, timeoutMs }: OpenOptions,
  ): Promise<Connection> {
    const client = new pg.Client({
      host: address.host,
      port: address.port,
      user: address.user,
      password: address.password ?? "",
      database: address.database,
      ssl: address.tls,
      types,
      pipeline: isPipelined,
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
      application_name: address.applicationName,
    } as pg.ClientConfig);
    const connection = new Connection(client);
    // The driver's own timeout covers only the connection of the socket. A server that hangs after that takes longer.
    const timer = setTimeout(() => connection.cut(), timeoutMs);
    try {
      await client.connect();
      // There is a result for each statement.
      const results = (await client.query(sessionSettings)) as unknown as pg.QueryResult<{ is_replica: boolean }>[];
      if (results.at(-1)?.rows[0]?.is_replica === true && !takesReplica) {
        throw new ReplicaError();
      }
      return connection;
    } catch (error) {
      const failure = connection.#failureOf(error);
      connection.cut();
      throw failure;
    } finally {
      clearTimeout(timer);
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Whether the session has survived the failure of a statement. The error alone does not tell: a pooler answers with one
   * of its own when it loses the database.
   */
  isAlive(): Promise<boolean> {
    return this.command("SELECT 1").then(
      () => true,
      () => false,
    );
  }

  /** The id of the server's process, by which another connection can end it. */
  get processId(): number {
    return (this.#client as unknown as { readonly processID: number }).processID;
  }

  /** For `COPY`, which takes a stream. */
  get client(): pg.Client {
    return this.#client;
  }

  /** Calls back once when the connection is lost. */
  onLost(listener: (error: Error) => void): void {
    void this.#lost.promise.then(listener);
  }

  /** Calls back with the text of each notification that the connection listens to. */
  onNotification(listener: (text: string | undefined) => void): void {
    this.#client.on("notification", ({ payload }) => listener(payload));
  }

  async query<Row = unknown>(sql: string, ...values: Value[]): Promise<Row[]> {
    return (await this.#run({ name: nameOf(sql), text: sql, values: values.map(encode) })).rows as Row[];
  }

  /** Runs statements without values, such as those of a migration. */
  async script(sql: string): Promise<void> {
    await this.#run({ text: sql });
  }

  /** Runs a statement without values. Returns what PostgreSQL says that it was, such as `COMMIT`. */
  async command(sql: string): Promise<string> {
    return (await this.#run({ text: sql })).command;
  }

  /** Runs work in a transaction, and rolls back when the work throws. */
  async transaction<T>(work: () => Promise<T>, begin = "BEGIN"): Promise<T> {
    // The work's first statement is sent without waiting for this one.
    const begun = this.command(begin);
    begun.catch(() => {});
    try {
      const value = await work();
      await begun;
      await this.commit();
      return value;
    } catch (error) {
      await this.command("ROLLBACK").catch(() => {});
      throw error;
    }
  }

  /**
   * Begins a transaction that may take long, and may be idle meanwhile. With REPEATABLE READ, its first read takes the
   * snapshot.
   */
  async beginLong(mode = ""): Promise<void> {
    await this.script(`BEGIN ${mode}; SET LOCAL idle_in_transaction_session_timeout = 0`);
  }

  /** Commits a transaction. Throws where it was rolled back, because one of its statements has failed. */
  async commit(): Promise<void> {
    const command = await this.command("COMMIT");
    if (command !== "COMMIT") {
      throw new Error(`the transaction was not committed: ${command}`);
    }
  }

  /** Does some work over the connection, and cuts it at a deadline of `performance.now()`. */
  async within<T>(deadline: number, work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.cut(), Math.max(0, deadline - performance.now()));
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Cuts the connection: whatever waits for it rejects. */
  cut(reason = "the database has not answered in time"): void {
    this.#cutReason ??= reason;
    this.#lose(new Error(reason));
    streamOf(this.#client).destroy();
  }

  async close(): Promise<void> {
    if (!this.#isLost) {
      const timer = setTimeout(() => this.cut(), 1_000);
      await this.#client.end().catch(() => {});
      clearTimeout(timer);
    }
  }

  async #run(query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (this.#isLost) {
      throw new LostConnectionError("the connection is lost");
    }
    this.#cork();
    try {
      return await this.#client.query(query);
    } catch (error) {
      if (sqlStateOf(error) === readOnlyTransaction) {
        // The session stays so, while the next one may take writes.
        this.cut("the database takes no writes");
      }
      throw this.#failureOf(error);
    }
  }

  /** The driver says of a connection that was cut only that it has ended. */
  #failureOf(error: unknown): Error {
    return error instanceof pg.DatabaseError || error instanceof ReplicaError
      ? error
      : new LostConnectionError(this.#cutReason ?? reasonOf(error), { cause: error });
  }

  /**
   * Statements that are sent without waiting for one another leave in one write. Each further write would wake the
   * database once more.
   */
  #cork(): void {
    if (!this.#isCorked) {
      const stream = streamOf(this.#client);
      this.#isCorked = true;
      stream.cork();
      queueMicrotask(() => {
        this.#isCorked = false;
        stream.uncork();
      });
    }
  }

  #lose(error: Error): void {
    this.#isLost = true;
    this.#lost.resolve(error);
  }
}

function streamOf(client: pg.Client): Duplex {
  return (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream;
}

/*
 * A server that is gone must not keep the others waiting. So PostgreSQL ends its idle transactions, and a statement
 * that waits for a lock notices that its client has gone. All statements are short: compiling one (`jit`) takes a
 * hundred times as long as running it. Some work takes minutes, such as an import, and what must not has a deadline of
 * its own: so limits that the user or the database has for statements and transactions do not count. Since PostgreSQL
 * 17 there is `transaction_timeout`.
 *
 * A limit for idle sessions (`idle_session_timeout`) does not count either: a read would fail if PostgreSQL ended its
 * session just then.
 *
 * `synchronous_commit` may be switched off after a server has been started, which it then would not allow. A session
 * follows a reload of the database's settings unless it has a value of its own.
 */
const sessionSettings = `
  SET idle_in_transaction_session_timeout = '5s';
  SET lock_timeout = '5s';
  SET client_connection_check_interval = '1s';
  SET tcp_keepalives_idle = 5;
  SET tcp_keepalives_interval = 2;
  SET tcp_keepalives_count = 2;
  SET jit = off;
  SET statement_timeout = 0;
  SET idle_session_timeout = 0;
  SELECT set_config('transaction_timeout', '0', false) WHERE current_setting('transaction_timeout', true) IS NOT NULL;
  SELECT set_config('synchronous_commit', CASE setting WHEN 'off' THEN 'on' ELSE setting END, false)
    FROM current_setting('synchronous_commit') AS setting;
  SET default_transaction_isolation = 'read committed';
  SET TimeZone = 'UTC';
  SELECT pg_is_in_recovery() AS is_replica`;

const names = new Map<string, string>();

/** The name under which a statement is prepared. */
function nameOf(sql: string): string {
  let name = names.get(sql);
  if (name === undefined) {
    name = `petstore_${names.size}`;
    names.set(sql, name);
  }
  return name;
}

/**
 * Whether a connection may fail because it speaks TLS: the server has none, or lets this user in only without
 * (`hostnossl`).
 *
 * Source: https://www.postgresql.org/docs/15/errcodes-appendix.html, invalid_authorization_specification
 */
function mayBeForTls(error: unknown): boolean {
  const isLost = error instanceof LostConnectionError && !(error instanceof ReplicaError);
  return isLost || sqlStateOf(error) === "28000";
}

/** An error's message; the first one of several, as of a host with several addresses. */
function reasonOf(error: unknown): string {
  const { message, errors } = error as AggregateError;
  return message !== "" || errors === undefined ? message : (errors[0] as Error).message;
}

/*
 * The advisory locks, all of them. Each begins with "pets" in ASCII, so that other programs in the database have others.
 *
 * Source: https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS
 */

/** Held by a process that migrates the database. */
export const migrationLock = 0x70657473n;

/** Held by a server that registers. */
export const registrationLock = 0x70657473_1n;

/** Held by an import after it has read its records. */
export const importLock = 0x70657473_2n;

/** Held by the server that deletes what is past its time. */
export const housekeepingLock = 0x70657473_3n;
