import { storeUnavailable } from "../../../domain/errors.ts";
import { Connection, connectTimeoutMs, type Queryable } from "./connection.ts";
import type { DatabaseAddress } from "./database-url.ts";
import { fromDriverError } from "./errors.ts";
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
  readonly #turns = new Turns(maxConnections);
  readonly #idle: IdleConnection[] = [];
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
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#useBy(performance.now() + deadlineMs, work);
  }

  /**
   * The same connections for statements that must not keep all of them busy: they have `width` connections at most. So
   * many of them may wait; the others are refused at once.
   */
  narrowed(width: number, maxWaiting = Number.POSITIVE_INFINITY): Queryable {
    const turns = new Turns(width, maxWaiting);
    return {
      query: <Row>(sql: string, ...values: Value[]) => {
        const deadline = performance.now() + deadlineMs;
        return turns.run(deadline, () => this.#useBy(deadline, (connection) => connection.query<Row>(sql, ...values)));
      },
    };
  }

  /** Closes the connections, once nobody uses them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#idle.splice(0).map((idle) => end(idle)));
  }

  #useBy<T>(deadline: number, work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#turns.run(deadline, async () => {
      try {
        const connection = await this.#acquire(deadline);
        try {
          return await connection.within(deadline, () => work(connection));
        } finally {
          this.#release(connection);
        }
      } catch (error) {
        throw fromDriverError(error, this.#address);
      }
    });
  }

  #acquire(deadline: number): Connection | Promise<Connection> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (!idle.connection.isLost) {
        return idle.connection;
      }
    }
    const timeoutMs = Math.max(1, Math.min(connectTimeoutMs, deadline - performance.now()));
    return Connection.open(this.#address, { timeoutMs });
  }

  #release(connection: Connection): void {
    if (this.#isClosed) {
      void connection.close();
    } else if (!connection.isLost) {
      const idle = { connection, timer: setTimeout(() => this.#retire(idle), idleMs).unref() };
      this.#idle.push(idle);
    }
  }

  #retire(idle: IdleConnection): void {
    this.#idle.splice(this.#idle.indexOf(idle), 1);
    void end(idle);
  }
}

async function end({ connection, timer }: IdleConnection): Promise<void> {
  clearTimeout(timer);
  await connection.close();
}

/** Lets some work run at once, so many pieces of it at most. Others wait, in the order of their arrival. */
class Turns {
  readonly #maxWaiting: number;
  readonly #waiting = new Set<(isLetIn: boolean) => void>();
  #free: number;

  constructor(width: number, maxWaiting = Number.POSITIVE_INFINITY) {
    this.#free = width;
    this.#maxWaiting = maxWaiting;
  }

  /** Rejects with `UNAVAILABLE` where the turn has not come by a deadline of `performance.now()`. */
  async run<T>(deadline: number, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) {
      this.#free -= 1;
    } else {
      await this.#wait(deadline);
    }
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  async #wait(deadline: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    if (this.#waiting.size >= this.#maxWaiting) {
      throw storeUnavailable(new Error("too many statements wait for a connection to the database"));
    }
    this.#waiting.add(resolve);
    const timer = setTimeout(
      () => {
        this.#waiting.delete(resolve);
        resolve(false);
      },
      Math.max(0, deadline - performance.now()),
    );
    const isLetIn = await promise;
    clearTimeout(timer);
    if (!isLetIn) {
      throw storeUnavailable(new Error("all connections to the database are busy"));
    }
  }

  /** Passes the turn on to the first that waits. */
  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
    } else {
      this.#waiting.delete(next);
      next(true);
    }
  }
}
