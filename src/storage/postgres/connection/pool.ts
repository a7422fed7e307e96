import { Connection, connectTimeoutMs, type Queryable } from "./connection.ts";
import type { DatabaseAddress } from "./database-url.ts";
import { fromDriverError, LostConnectionError } from "./errors.ts";
import type { Value } from "./values.ts";

/** How many connections are open at most. */
const maxConnections = 8;

/**
 * How long work may take, in milliseconds, the wait for a connection included. Callers hear within 8 s of a database
 * that hangs.
 */
const deadlineMs = 6_000;

/** How long an idle connection stays open, in milliseconds. */
const idleMs = 30_000;

interface IdleConnection {
  readonly connection: Connection;
  readonly timer: NodeJS.Timeout;
}

/**
 * Connections for reads, and for the writes that are rare. Work that takes longer than its deadline loses its
 * connection. Errors of the driver become domain errors here.
 */
export class Pool implements Queryable {
  readonly #address: DatabaseAddress;
  readonly #idle: IdleConnection[] = [];
  #waiting: ((isLetIn: boolean) => void)[] = [];
  #count = 0;
  #isClosed = false;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  query<Row = unknown>(sql: string, ...values: Value[]): Promise<Row[]> {
    return this.use((connection) => connection.query<Row>(sql, ...values));
  }

  /** Runs work in a transaction. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.use((connection) => connection.transaction(() => work(connection)));
  }

  /** Lends a connection to some work. Rejects with `UNAVAILABLE`. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await this.#useBy(performance.now() + deadlineMs, work);
    } catch (error) {
      throw fromDriverError(error);
    }
  }

  /** Closes the connections, once nobody uses them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#idle.splice(0).map(({ connection, timer }) => this.#end(connection, timer)));
  }

  async #useBy<T>(deadline: number, work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#acquire(deadline);
    try {
      return await connection.within(deadline, () => work(connection));
    } finally {
      this.#release(connection);
    }
  }

  async #acquire(deadline: number): Promise<Connection> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (!idle.connection.isLost) {
        return idle.connection;
      }
      this.#count -= 1;
    }
    if (this.#count >= maxConnections) {
      await this.#turn(deadline);
      return this.#acquire(deadline);
    }
    this.#count += 1;
    try {
      return await Connection.open(this.#address, {
        timeoutMs: Math.max(1, Math.min(connectTimeoutMs, deadline - performance.now())),
      });
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  /** Waits until a connection is free, or may be opened. */
  async #turn(deadline: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.push(resolve);
    const timer = setTimeout(() => resolve(false), Math.max(0, deadline - performance.now()));
    const isLetIn = await promise;
    clearTimeout(timer);
    if (!isLetIn) {
      this.#waiting = this.#waiting.filter((waiter) => waiter !== resolve);
      throw new LostConnectionError("all connections to the database are busy");
    }
  }

  #release(connection: Connection): void {
    if (connection.isLost) {
      this.#leave();
    } else if (this.#isClosed) {
      void this.#end(connection);
    } else {
      const timer = setTimeout(() => this.#retire(connection), idleMs).unref();
      this.#idle.push({ connection, timer });
      this.#waiting.shift()?.(true);
    }
  }

  #retire(connection: Connection): void {
    const index = this.#idle.findIndex((idle) => idle.connection === connection);
    if (index >= 0) {
      this.#idle.splice(index, 1);
      void this.#end(connection);
    }
  }

  async #end(connection: Connection, timer?: NodeJS.Timeout): Promise<void> {
    clearTimeout(timer);
    this.#leave();
    await connection.close();
  }

  #leave(): void {
    this.#count -= 1;
    this.#waiting.shift()?.(true);
  }
}
