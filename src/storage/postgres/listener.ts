import { changesChannel } from "./change-counts.ts";
import { Connection } from "./connection/connection.ts";
import type { DatabaseAddress } from "./connection/database-url.ts";

/** How long to wait before a lost connection is opened again, in milliseconds. */
const pauseMs = 1_000;

/** Hears of the changes of other writers at once, over a connection of its own. What it misses, a later question tells. */
export class ChangeListener {
  readonly #address: DatabaseAddress;
  readonly #heard: () => void;
  #connection: Connection | undefined;
  #timer: NodeJS.Timeout | undefined;
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
          this.#heard();
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

  #listenLater(writer: string): void {
    if (!this.#isClosed) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#listen(writer), pauseMs).unref();
    }
  }
}
