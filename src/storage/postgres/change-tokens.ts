import type { ChangeTokens, ChangeTopic } from "../../domain/store.ts";
import { Connection, type Queryable } from "./connection/connection.ts";
import type { DatabaseAddress } from "./connection/database-url.ts";

/** The writer of imports. It also has the counts of writers that are gone. */
export const anyWriter = "";

/** Where PostgreSQL tells of changes, with the writer that has made them. */
export const changesChannel = "petstore_changes";

/** How changes are counted. */
export interface ChangeCount {
  /** Whose changes they are. */
  readonly writer: string;
  /** Whether the commit tells those who listen. */
  readonly tells: boolean;
}

/** Whoever makes many changes tells of them so often at most, in milliseconds. */
export const tellingPauseMs = 20;

/** How long after a notification those changes are asked for that were not told. */
const untoldMs = 2 * tellingPauseMs;

/** Counts changes of a topic, in the transaction that makes them. */
export async function countChanges(
  connection: Queryable,
  { writer, tells }: ChangeCount,
  topic: ChangeTopic,
  count: number,
): Promise<void> {
  await connection.query(
    `WITH counted AS (
       INSERT INTO change_counts AS known (writer, topic, count) VALUES ($1, $2, $3)
       ON CONFLICT (writer, topic) DO UPDATE SET count = known.count + excluded.count
       RETURNING writer
     )
     SELECT pg_notify('${changesChannel}', writer) FROM counted WHERE $4`,
    writer,
    topic,
    BigInt(count),
    tells,
  );
}

/** How often others than a writer have changed each topic. */
export async function readChangeTokens(connection: Queryable, writer: string): Promise<ChangeTokens> {
  const rows = await connection.query<{ topic: ChangeTopic; count: bigint }>(
    `SELECT topic, sum(count)::bigint AS count FROM change_counts WHERE writer <> $1 GROUP BY topic`,
    writer,
  );
  const counts = rows.map(({ topic, count }): [ChangeTopic, number] => [topic, Number(count)]);
  return { keys: 0, stock: 0, usage: 0, webhooks: 0, ...Object.fromEntries(counts) };
}

/** Leaves the counts of the writer `$1` to the writer `$2`: for others nothing changes. */
export const retireWriter = `
  WITH own AS (DELETE FROM change_counts WHERE writer = $1 RETURNING topic, count)
  INSERT INTO change_counts AS known (writer, topic, count) SELECT $2, topic, count FROM own ORDER BY topic
  ON CONFLICT (writer, topic) DO UPDATE SET count = known.count + excluded.count`;

/**
 * Does the same for the writers that are no registered servers: those that were killed, and commands. One of these may
 * still be there, and then counts anew. To be called in a transaction.
 */
export async function retireForgottenWriters(connection: Queryable): Promise<void> {
  await connection.query(
    `WITH forgotten AS (
       SELECT writer, topic FROM change_counts WHERE writer <> $1 AND writer NOT IN (SELECT id FROM servers)
       ORDER BY writer, topic FOR UPDATE SKIP LOCKED
     ), retired AS (
       DELETE FROM change_counts WHERE (writer, topic) IN (SELECT writer, topic FROM forgotten) RETURNING topic, count
     )
     INSERT INTO change_counts AS known (writer, topic, count)
     SELECT $1, topic, sum(count)::bigint FROM retired GROUP BY topic ORDER BY topic
     ON CONFLICT (writer, topic) DO UPDATE SET count = known.count + excluded.count`,
    anyWriter,
  );
}

/** How long to wait before a lost connection is opened again, in milliseconds. */
const pauseMs = 1_000;

/** Hears of the changes of other writers at once, over a connection of its own. What it misses, a later question tells. */
export class ChangeListener {
  readonly #address: DatabaseAddress;
  readonly #heard: () => void;
  #connection: Connection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #untold: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `writer` is the one whose changes are not told. */
  constructor(address: DatabaseAddress, writer: string, heard: () => void) {
    this.#address = address;
    this.#heard = heard;
    void this.#listen(writer);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#untold);
    await this.#connection?.close();
  }

  async #listen(writer: string): Promise<void> {
    try {
      const connection = await Connection.open(this.#address);
      if (this.#isClosed) {
        await connection.close();
        return;
      }
      this.#connection = connection;
      connection.onNotification((whose) => {
        if (whose !== writer) {
          this.#hear();
        }
      });
      connection.onLost(() => this.#listenLater(writer));
      await connection.script(`LISTEN ${changesChannel}`);
      this.#heard();
    } catch {
      this.#connection?.cut();
      this.#listenLater(writer);
    }
  }

  #hear(): void {
    this.#heard();
    clearTimeout(this.#untold);
    this.#untold = setTimeout(this.#heard, untoldMs).unref();
  }

  #listenLater(writer: string): void {
    if (!this.#isClosed) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#listen(writer), pauseMs).unref();
    }
  }
}
