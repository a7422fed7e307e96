import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import type { CopiedRow, CopiedValue } from "../../copy.ts";
import type { Connection } from "./connection.ts";
import { LostConnectionError } from "./errors.ts";
import { encodeText, writeArray } from "./values.ts";

/** How many characters are sent at once. */
const charactersPerPiece = 65_536;

/**
 * Copies rows into a table, or into some of its columns. An error of the rows is rethrown, and nothing is copied then.
 * Throws PostgreSQL's errors, and `LostConnectionError`.
 */
export async function copyRows(connection: Connection, table: string, rows: AsyncIterable<CopiedRow>): Promise<void> {
  const stream = new CopyStream(connection, table);
  try {
    let piece = "";
    for await (const row of rows) {
      piece += `${row.map(writeValue).join("\t")}\n`;
      if (piece.length >= charactersPerPiece) {
        await stream.write(piece);
        piece = "";
      }
    }
    await stream.end(piece);
  } catch (error) {
    stream.abandon();
    throw error;
  }
}

/**
 * Sends the rows of one COPY. A stream of the driver that has failed has no connection, and throws when it is written
 * to or destroyed. So it is left alone after a failure. If it fails several times, the first failure counts.
 */
class CopyStream {
  readonly #stream: ReturnType<typeof copyFrom>;
  #failure: Error | undefined;
  #stopWaiting: (failure: Error) => void = () => {};

  constructor(connection: Connection, table: string) {
    this.#stream = connection.client.query(copyFrom(`COPY ${table} FROM STDIN`));
    this.#stream.on("error", (error: Error) => {
      this.#failure ??= error instanceof pg.DatabaseError ? error : lostConnection(error);
      this.#stopWaiting(this.#failure);
    });
  }

  async write(text: string): Promise<void> {
    this.#assertWell();
    if (!this.#stream.write(text)) {
      await this.#until("drain");
    }
  }

  async end(text: string): Promise<void> {
    this.#assertWell();
    const finished = this.#until("finish");
    this.#stream.end(text);
    await finished;
  }

  /** Makes PostgreSQL discard the rows, where the connection still works. */
  abandon(): void {
    if (this.#failure === undefined) {
      this.#stream.destroy();
    }
  }

  #assertWell(): void {
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
  }

  #until(event: "drain" | "finish"): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#stopWaiting = reject;
    this.#stream.once(event, () => resolve());
    return promise;
  }
}

function lostConnection(error: Error): LostConnectionError {
  const message = `the connection was lost in the middle, and nothing has been changed: ${error.message}`;
  return new LostConnectionError(message, { cause: error });
}

/** Source: https://www.postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.2 */
function writeValue(value: CopiedValue): string {
  if (value === null) {
    return "\\N";
  }
  if (value instanceof Uint8Array) {
    return `\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
  }
  return Array.isArray(value) ? escapeForCopy(writeArray(value)) : escapeForCopy(encodeText(String(value)));
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function escapeForCopy(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (character) => escapes[character] as string);
}
