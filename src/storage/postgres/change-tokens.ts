import type { ChangeTokens, ChangeTopic } from "../../domain/store.ts";
import { Connection, type Queryable } from "./connection/connection.ts";
import type { DatabaseAddress } from "./connection/database-url.ts";

/** The writer under which imports are counted. It also takes over the counts of writers that have ended. */
export const anyWriter = "";

/** The channel for notifications of changes. A notification's text is the writer that has made them. */
export const changesChannel = "petstore_changes";

/**
 * The name under which a process counts its changes. Its change tokens leave out the counts of this name: it knows of
 * its own changes. When nobody knows what has become of one, the process takes another name. What it has counted under
 * the former one, or will have once a late commit takes effect, then counts as made by others.
 */
export class ChangeWriter {
  readonly #id: string;
  #names = 1;

  /** Takes an id of the process, without a `#`. */
  constructor(id: string) {
    this.#id = id;
  }

  get name(): string {
    return this.#names === 1 ? this.#id : `${this.#id}#${this.#names}`;
  }

  rename(): void {
    this.#names += 1;
  }
}

/** The id of the process in the name of a writer. */
const idInName = "split_part(writer, '#', 1)";

/** How changes are counted. */
export interface ChangeCount {
  /** The name of the writer that makes the changes. */
  readonly writer: string;
  /** Whether the commit sends a notification. */
  readonly notifies: boolean;
}

/** The least time between two notifications of a writer of stock, in milliseconds. */
export const notifyIntervalMs = 20;

/**
 * How long after a notification the listener calls back once more, in milliseconds: for later changes that had no
 * notification.
 */
export const followUpMs = 2 * notifyIntervalMs;

/** Counts changes of a topic, in the transaction that makes them. */
export async function countChanges(
  connection: Queryable,
  { writer, notifies }: ChangeCount,
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
    notifies,
  );
}

/** Sends a notification of changes that were committed without one. */
export async function notifyOthers(connection: Queryable, writer: string): Promise<void> {
  await connection.query(`SELECT pg_notify('${changesChannel}', $1)`, writer);
}

/** How often other writers than this one have changed each topic. */
export async function readChangeTokens(connection: Queryable, writer: string): Promise<ChangeTokens> {
  const rows = await connection.query<{ topic: ChangeTopic; count: bigint }>(
    `SELECT topic, sum(count)::bigint AS count FROM change_counts WHERE writer <> $1 GROUP BY topic`,
    writer,
  );
  const counts = rows.map(({ topic, count }): [ChangeTopic, number] => [topic, Number(count)]);
  return { keys: 0, stock: 0, usage: 0, webhooks: 0, ...Object.fromEntries(counts) };
}

/** Moves the counts of the process `$1` to the writer `$2`. So the change tokens of other writers stay the same. */
export const retireWriter = `
  WITH own AS (DELETE FROM change_counts WHERE ${idInName} = $1 RETURNING topic, count)
  INSERT INTO change_counts AS known (writer, topic, count)
  SELECT $2, topic, sum(count)::bigint FROM own GROUP BY topic ORDER BY topic
  ON CONFLICT (writer, topic) DO UPDATE SET count = known.count + excluded.count`;

/**
 * Moves the counts of all writers that are not registered servers to `anyWriter`: those of killed servers, and of
 * commands. A command that still runs then begins a new count. To be called in a transaction.
 */
export async function retireForgottenWriters(connection: Queryable): Promise<void> {
  await connection.query(
    `WITH forgotten AS (
       SELECT writer, topic FROM change_counts WHERE writer <> $1 AND ${idInName} NOT IN (SELECT id FROM servers)
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

/**
 * Hears of the changes of other writers at once, over a connection of its own. Changes that it misses are found when
 * the change tokens are next read.
 */
export class ChangeListener {
  readonly #address: DatabaseAddress;
  readonly #heard: () => void;
  #connection: Connection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #followUp: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `heard` is not called for changes of `writer`. */
  constructor(address: DatabaseAddress, writer: ChangeWriter, heard: () => void) {
    this.#address = address;
    this.#heard = heard;
    void this.#listen(writer);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#followUp);
    await this.#connection?.close();
  }

  async #listen(writer: ChangeWriter): Promise<void> {
    try {
      const connection = await Connection.open(this.#address);
      if (this.#isClosed) {
        await connection.close();
        return;
      }
      this.#connection = connection;
      connection.onNotification((whose) => {
        if (whose !== writer.name) {
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
    clearTimeout(this.#followUp);
    this.#followUp = setTimeout(this.#heard, followUpMs).unref();
  }

  #listenLater(writer: ChangeWriter): void {
    if (!this.#isClosed) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#listen(writer), pauseMs).unref();
    }
  }
}
