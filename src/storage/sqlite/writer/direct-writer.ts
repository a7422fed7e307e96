import { setImmediate } from "node:timers/promises";
import type { StockCommand, StockEntry } from "../../../domain/stock.ts";
import type { ChangeTokens, CommittedChanges, WriteContext, Written } from "../../../domain/store.ts";
import type { Connection } from "../connection.ts";
import { openDatabase } from "../database.ts";
import { FileIdentity } from "../store-file.ts";
import type { GroupWriter } from "./group-writer.ts";
import { resultOf, toCallerError, type WriteOutcome } from "./outcome.ts";
import type { WriterOptions } from "./writer.ts";
import type { CommittedWrites, StoreWriter, Task, WriteArgs, Writes } from "./writes.ts";

/**
 * The writer of a store on its caller's thread, for commands: they have nothing else to do while they write, and starting
 * a thread takes longer than what most of them do. A write waits for others' transactions, so it must not be asked for
 * during an import by the same thread.
 */
export class DirectWriter implements StoreWriter {
  readonly #path: string;
  readonly #options: WriterOptions;
  readonly #listeners: ((changes: CommittedChanges) => void)[] = [];
  #opened: Promise<{ readonly connection: Connection; readonly groups: GroupWriter }> | undefined;

  /** Takes the path of a prepared file. The first write opens it. */
  constructor(path: string, options: WriterOptions) {
    this.#path = path;
    this.#options = options;
  }

  onChanges(listener: (changes: CommittedChanges) => void): void {
    this.#listeners.push(listener);
  }

  changeStock(command: StockCommand, context: WriteContext): Promise<Written<StockEntry>> {
    return this.run("changeStockOrThrow", command, context);
  }

  run<Name extends keyof Writes>(name: Name, ...args: WriteArgs<Name>): Promise<ReturnType<Writes[Name]>> {
    return this.#do({ name, args });
  }

  changeTokens(): Promise<ChangeTokens> {
    return this.#do({ name: "changeTokens" });
  }

  /** Leaves unapplied changes to a server, so that a command never holds one up. */
  async close(): Promise<void> {
    (await this.#opened)?.connection.close();
  }

  async #do<T>(task: Task): Promise<T> {
    this.#opened ??= this.#open();
    const { groups } = await this.#opened;
    const group = commitAlone(groups, task);
    // The reads of this turn share a transaction that does not see the write. So the caller goes on in the next turn.
    await setImmediate();
    const tasks = group.others?.tasks ?? [];
    const petIds = [...(group.others?.petIds ?? [])];
    for (const listener of petIds.length === 0 ? [] : this.#listeners) {
      listener({ lineage: group.lineage, revision: BigInt(group.revision), petIds });
    }
    if (group.size > 0) {
      this.#options.committed?.(group);
    }
    return resultOf<T>(tasks[0] as WriteOutcome);
  }

  async #open() {
    // Without this module, commands that only read start sooner.
    const { GroupWriter } = await import("./group-writer.ts");
    const connection = openDatabase(this.#path, this.#options);
    return { connection, groups: new GroupWriter(connection, new FileIdentity(this.#path)) };
  }
}

function commitAlone(groups: GroupWriter, task: Task): CommittedWrites {
  try {
    return groups.commit([], [task]).message;
  } catch (error) {
    throw toCallerError(error);
  }
}
