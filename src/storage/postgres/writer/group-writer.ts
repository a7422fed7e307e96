import { setImmediate } from "node:timers/promises";
import { DomainError, storeUnavailable } from "../../../domain/errors.ts";
import type { CommittedChanges, CommittedGroup, Written } from "../../../domain/store.ts";
import { type ChangeCount, type ChangeWriter, followUpMs, notifyIntervalMs, notifyOthers } from "../change-tokens.ts";
import { Connection, connectTimeoutMs } from "../connection/connection.ts";
import type { DatabaseAddress } from "../connection/database-url.ts";
import { isConflict, isDatabaseFailure, LostConnectionError, sqlStateOf } from "../connection/errors.ts";
import { isPlainGroup, writePlainChanges } from "./plain-changes.ts";
import { isDirty, readWorkingSet, writeWorkingSet } from "./round-trips.ts";
import type { StockWriteTask } from "./stock-writes.ts";
import type { Head, WorkingSet } from "./working-set.ts";

/** How many rows a group reads at most, beyond its first write: twice what one batch may have. */
const maxInGroup = 2_000;

/** How many rows the writes that wait may read: seconds of work. */
const maxWaiting = 100_000;

/** How long a group may take, with the connection, in milliseconds. */
const groupTimeoutMs = 5_000;

/**
 * When the database fails, waiting writes fail, too, once they have waited for this many milliseconds. So each caller
 * hears of it within 8 s.
 */
const patienceMs = 2_000;

/**
 * A group that depends on holds and has waited longer for the lock of the head, in milliseconds, is judged by the time at
 * which it has it.
 */
const mostLockWaitMs = 10;

/** How often a group is tried again after a conflict or a lost connection. */
const maxRetries = 5;

/** After a group with a change that might be refused, this many groups take two round trips: they may be like it. */
const groupsAfterRefusal = 16;

/*
 * Every statement looks rows up by their keys, so one plan suits all values. By default PostgreSQL may plan a prepared
 * statement anew for each run (with small groups it always does), and planning takes longer than running. While a table
 * is small, plans that read all of it seem as good, and they would stay while it grows.
 */
const planOnce = `
  SET plan_cache_mode = force_generic_plan;
  SET enable_seqscan = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off`;

/** A caller that waits for its write. */
interface Waiter {
  readonly task: StockWriteTask<unknown>;
  readonly weight: number;
  readonly waitingSinceMs: number;
  readonly resolve: (written: Written<never>) => void;
  readonly reject: (reason: unknown) => void;
}

/** Writes that are done together. */
interface Group {
  readonly waiters: readonly Waiter[];
  /** Resolves when the group before is no longer under way. */
  readonly former: Promise<void>;
}

/** How a writer writes. */
interface GroupWriterOptions {
  /** The writer of the changes. It is renamed when nobody knows what has become of a group. */
  readonly writer: ChangeWriter;
  /** The clock of the store. Writes that have waited happen when they are written. */
  readonly clock: () => number;
  /** Hears of each group that has been committed. */
  readonly committed?: ((group: CommittedGroup) => void) | undefined;
}

/**
 * Writes stock and holds over one connection. The writes that arrive during a transaction are done together in the next
 * one. A transaction takes two round trips. The first locks the head row and reads the rows that the writes need. The
 * second writes and commits. While no other server writes, plain changes take one round trip: see `plain-changes.ts`.
 * While such a group is at the database, the next one may be sent already, so that the database never waits for it.
 *
 * A transaction writes only if it has the lock of the head row, or if this row is as the writer has left it. So a
 * commit whose answer is lost takes effect before all later writes, or never.
 */
export class GroupWriter {
  readonly #address: DatabaseAddress;
  readonly #options: GroupWriterOptions;
  readonly #listeners: ((changes: CommittedChanges) => void)[] = [];
  readonly #head = new HeadWatch();
  #connection: Connection | undefined;
  #waiters: Waiter[] = [];
  #waitingWeight = 0;
  #working: Promise<void> | undefined;
  /** Whom to tell when so many writes wait: see `#untilEnoughWait`. */
  #enoughWaiting: { readonly count: number; readonly resolve: () => void } | undefined;
  /** When the last group that sent a notification began. */
  #notifiedAtMs = -Infinity;

  constructor(address: DatabaseAddress, options: GroupWriterOptions) {
    this.#address = address;
    this.#options = options;
  }

  onChanges(listener: (changes: CommittedChanges) => void): void {
    this.#listeners.push(listener);
  }

  /** Does a write, and resolves when it is durable. Rejects with `UNAVAILABLE`, and with the errors of the write. */
  run<T>(task: StockWriteTask<T>): Promise<Written<T>> {
    const weight = task.needs.petIds.length + 1;
    if (this.#waitingWeight + weight > maxWaiting && this.#waitingWeight > 0) {
      return Promise.reject(storeUnavailable(new Error("too many writes wait for the database")));
    }
    return new Promise<Written<T>>((resolve, reject) => {
      this.#waitingWeight += weight;
      this.#waiters.push({ task, weight, waitingSinceMs: performance.now(), resolve, reject });
      this.#working ??= this.#work();
      this.#callIfEnoughWait();
    });
  }

  /** Waits for the writes under way, and closes the connection. */
  async close(): Promise<void> {
    await this.#working;
    await this.#connection?.close();
  }

  async #work(): Promise<void> {
    // Writes of the same turn share the first group.
    await Promise.resolve();
    let former = Promise.resolve();
    while (this.#waiters.length > 0) {
      const waiters = this.#takeWaiters();
      const written = this.#writeGroup({ waiters, former });
      await former;
      await Promise.race([written, this.#untilEnoughWait(waiters.length)]);
      // Larger groups cost less. If fewer writes wait than the last group had, the next one waits a turn for more.
      if (this.#waiters.length < waiters.length) {
        await written;
        await setImmediate();
      }
      former = written;
    }
    this.#working = undefined;
  }

  /** Resolves when that many writes wait while a group is at the database that another one may follow. */
  #untilEnoughWait(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#enoughWaiting = { count, resolve };
      this.#callIfEnoughWait();
    });
  }

  #callIfEnoughWait(): void {
    if (this.#enoughWaiting !== undefined && this.#waiters.length >= this.#enoughWaiting.count && this.#head.isAhead) {
      this.#enoughWaiting.resolve();
      this.#enoughWaiting = undefined;
    }
  }

  #takeWaiters(): Waiter[] {
    let weight = 0;
    let count = 0;
    while (
      count < this.#waiters.length &&
      (count === 0 || weight + (this.#waiters[count] as Waiter).weight <= maxInGroup)
    ) {
      weight += (this.#waiters[count] as Waiter).weight;
      count += 1;
    }
    this.#waitingWeight -= weight;
    return this.#waiters.splice(0, count);
  }

  /** If a write of a group fails, the writes are done one by one, so that the others do not fail with it. */
  async #writeGroup(group: Group): Promise<void> {
    const { waiters, former } = group;
    try {
      await this.#commitWithin(group);
    } catch (error) {
      if (isDatabaseFailure(error)) {
        failAll([...waiters, ...this.#takeImpatient()], storeUnavailable(error));
      } else if (waiters.length > 1) {
        for (const waiter of waiters) {
          await this.#writeGroup({ waiters: [waiter], former });
        }
      } else {
        failAll(waiters, error);
      }
    }
  }

  #takeImpatient(): Waiter[] {
    const since = performance.now() - patienceMs;
    const count = this.#waiters.findLastIndex(({ waitingSinceMs }) => waitingSinceMs < since) + 1;
    const impatient = this.#waiters.splice(0, count);
    this.#waitingWeight -= impatient.reduce((sum, { weight }) => sum + weight, 0);
    return impatient;
  }

  async #commitWithin(group: Group): Promise<void> {
    const deadline = performance.now() + groupTimeoutMs;
    let doubt: Doubt | undefined;
    for (let tries = 1; ; tries += 1) {
      const attempt = new Attempt(doubt);
      const timer = setTimeout(() => this.#connection?.cut(), Math.max(0, deadline - performance.now()));
      try {
        await this.#commit(group, attempt, deadline);
        return;
      } catch (error) {
        doubt = attempt.doubt;
        if (!attempt.mayRetry(error) || tries > maxRetries || performance.now() >= deadline) {
          if (await attempt.mayHaveWritten()) {
            this.#options.writer.rename();
          }
          throw error;
        }
      } finally {
        clearTimeout(timer);
      }
    }
  }

  async #commit(group: Group, attempt: Attempt, deadline: number): Promise<void> {
    if (!this.#head.isAhead || this.#connection?.isLost !== false || attempt.doubt !== undefined) {
      await group.former;
    }
    const connection = await this.#connect(deadline);
    attempt.connection = connection;
    const begunAtMs = performance.now();
    const count = { writer: this.#options.writer.name, notifies: begunAtMs - this.#notifiedAtMs >= notifyIntervalMs };
    const { set, settle, syncMs } =
      (await this.#writeAtOnce(connection, group, attempt, count)) ??
      (await this.#write(connection, group, attempt, count));
    if (count.notifies && set.changes.length > 0) {
      this.#notifiedAtMs = begunAtMs;
    } else if (set.changes.length > 0 && performance.now() - this.#notifiedAtMs >= followUpMs) {
      // It took so long, such as for a lock, that those who were told of a group before may have asked too early.
      this.#notifiedAtMs = performance.now();
      notifyOthers(connection, count.writer).catch(() => {});
    }
    const tellCommitted = () => {
      if (syncMs !== undefined) {
        this.#options.committed?.({ size: group.waiters.length, syncMs });
      }
    };
    // The next group is sent before anybody is told, so that the database does not wait for it.
    process.nextTick(callAll, [tellCommitted, ...this.#notices(set), ...settle]);
  }

  /**
   * As `#write`, in one round trip. Resolves to undefined, and has written nothing, where the group needs two. In any
   * case the group before is no longer under way then.
   */
  async #writeAtOnce(connection: Connection, { waiters, former }: Group, attempt: Attempt, count: ChangeCount) {
    const tasks = waiters.map(({ task }) => task);
    if (!this.#head.isAhead) {
      // The group before may have been turned down since this one was allowed not to wait for it.
      await former;
    }
    const { likely: head, isAhead } = this.#head;
    if (head === undefined || attempt.doubt !== undefined || !isPlainGroup(tasks)) {
      await former;
      return undefined;
    }
    const begunAtMs = performance.now();
    const nowMs = this.#timeOf(tasks);
    const set = await this.#head.advance(head, tasks.length, () =>
      attempt.writePlain(head, () => writePlainChanges(connection, { tasks, nowMs }, { head, isAhead }, count)),
    );
    await former;
    if (set === undefined) {
      attempt.isTurnedDown = this.#head.isAt(head);
      return undefined;
    }
    const syncMs = performance.now() - begunAtMs;
    return { set, settle: waiters.map((waiter) => tellWritten(waiter, set)), syncMs };
  }

  /** Resolves once the group is committed. `syncMs` is how long that took; undefined where there was nothing to write. */
  async #write(connection: Connection, { waiters }: Group, attempt: Attempt, count: ChangeCount) {
    const begun = connection.command("BEGIN");
    begun.catch(() => {});
    try {
      const tasks = waiters.map(({ task }) => task);
      let set = await readWorkingSet(connection, tasks, this.#timeOf(tasks));
      const lockedAtMs = this.#timeOf(tasks);
      if (!tasks.some(needsHolds)) {
        // The group may have waited for the lock. Changes are dated in the order in which writers have had it.
        set.nowMs = lockedAtMs;
      } else if (lockedAtMs - set.nowMs > mostLockWaitMs) {
        // Holds may have expired meanwhile.
        set = await readWorkingSet(connection, tasks, lockedAtMs);
      }
      await begun;
      attempt.assertUnwritten(set.head);
      this.#head.noteFound(set.head, attempt.isTurnedDown);
      const settle = waiters.map((waiter) => decide(waiter, set));
      const decidedAtMs = performance.now();
      const isMoved = attempt.doubt !== undefined && (await moveHead(connection, set));
      attempt.hasWritten = isMoved || isDirty(set);
      await (attempt.hasWritten ? writeWorkingSet(connection, set, count) : connection.command("ROLLBACK"));
      this.#head.noteLeft(set.head);
      return { set, settle, syncMs: attempt.hasWritten ? performance.now() - decidedAtMs : undefined };
    } catch (error) {
      if (!connection.isLost) {
        await connection.command("ROLLBACK").catch(() => {});
      }
      throw error;
    }
  }

  /** When a group's writes happen that are written now: no write happens before it has arrived. */
  #timeOf(tasks: readonly StockWriteTask<unknown>[]): number {
    return Math.max(this.#options.clock(), ...tasks.map(({ context }) => context.nowMs));
  }

  async #connect(deadline: number): Promise<Connection> {
    if (this.#connection === undefined || this.#connection.isLost) {
      this.#connection = undefined;
      const timeoutMs = Math.max(1, Math.min(connectTimeoutMs, deadline - performance.now()));
      this.#connection = await Connection.open(this.#address, { timeoutMs });
      await this.#connection.script(planOnce);
    }
    return this.#connection;
  }

  /** Calls that tell each listener of the changes. */
  #notices({ head, changes }: WorkingSet): (() => void)[] {
    const told = { lineage: head.lineage, revision: head.revision, petIds: changes.map(({ petId }) => petId) };
    return changes.length === 0 ? [] : this.#listeners.map((listener) => () => listener(told));
  }
}

/**
 * Tells where the head is likely to be: where this writer has left it, unless another one has moved it lately; and where
 * the statement under way leaves it, if there is one.
 */
class HeadWatch {
  #left: Head | undefined;
  /** Where the statement that was sent last leaves the head, while it is under way. */
  #ahead: Head | undefined;
  #isOwn = true;
  #suspectGroups = 0;

  /** Undefined where a group of plain changes should take two round trips. */
  get likely(): Head | undefined {
    return this.#isOwn && this.#suspectGroups === 0 ? (this.#ahead ?? this.#left) : undefined;
  }

  /** Whether a statement is under way, so that the next one counts on it. */
  get isAhead(): boolean {
    return this.#ahead !== undefined;
  }

  /** Whether this writer has left the head there. */
  isAt(head: Head): boolean {
    return this.#left !== undefined && isSameHead(this.#left, head);
  }

  /** Runs a statement that makes so many changes after `head`, or none: it resolves to undefined then. */
  async advance<T>(head: Head, changes: number, run: () => Promise<T | undefined>): Promise<T | undefined> {
    const ahead = { ...head, revision: head.revision + BigInt(changes) };
    this.#ahead = ahead;
    try {
      const result = await run();
      if (result !== undefined) {
        this.#left = ahead;
      }
      return result;
    } finally {
      if (this.#ahead === ahead) {
        this.#ahead = undefined;
      }
    }
  }

  /** Notes where the head was found under its lock, and whether the group had come back unwritten from one round trip. */
  noteFound(head: Head, isTurnedDown: boolean): void {
    this.#isOwn = this.#left === undefined || isSameHead(head, this.#left);
    if (this.#isOwn && isTurnedDown) {
      this.#suspectGroups = groupsAfterRefusal;
    }
  }

  noteLeft(head: Head): void {
    this.#left = head;
    this.#suspectGroups = Math.max(0, this.#suspectGroups - 1);
  }
}

function isSameHead(a: Head, b: Head): boolean {
  return a.revision === b.revision && a.holdPosition === b.holdPosition && a.lineage === b.lineage;
}

/**
 * A group of plain changes whose connection was lost. If it was written, it has moved the head. If the head has not
 * moved, the group is decided on again, and the head is moved in any case: see `moveHead`. Should the lost statement
 * still run, it finds the head moved, and writes nothing.
 */
interface Doubt {
  /** Says how the connection was lost. */
  readonly error: unknown;
  /** Where the head was expected. */
  readonly head: Head;
}

/** How far one try to commit a group has come. */
class Attempt {
  connection: Connection | undefined;
  /** Whether the group, or a part of it, has been sent to be written. */
  hasWritten = false;
  /** Whether the group has come back unwritten from one round trip. */
  isTurnedDown = false;
  /** Whether this try, or one before it, may have written the group. */
  doubt: Doubt | undefined;
  #isNewDoubt = false;

  constructor(doubt: Doubt | undefined) {
    this.doubt = doubt;
  }

  /** Runs a statement that writes the group if the head is where it is expected. */
  async writePlain<T>(head: Head, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (isLoss(error)) {
        this.doubt = { error, head };
        this.#isNewDoubt = true;
      } else {
        this.hasWritten = true;
      }
      throw error;
    }
  }

  /** To be called with the head under its lock. Throws the error of the lost connection if the group may be written. */
  assertUnwritten(head: Head): void {
    if (this.doubt !== undefined && !isSameHead(head, this.doubt.head)) {
      this.hasWritten = true;
      throw this.doubt.error;
    }
  }

  /** Whether the group may be tried again: the failure has surely written nothing, or the next try finds out. */
  mayRetry(error: unknown): boolean {
    const isLost = isLoss(error) && this.connection !== undefined;
    return isConflict(error) || (isLost && (this.#isNewDoubt || !this.hasWritten));
  }

  /**
   * Whether the group may be committed although it has failed: already, or later. It is surely not where the session has
   * survived the failure.
   */
  async mayHaveWritten(): Promise<boolean> {
    return this.doubt !== undefined || (this.hasWritten && (await this.connection?.isAlive()) !== true);
  }
}

/**
 * Whether an error says that the connection is lost: PostgreSQL's own last word on it is of the class 57P, such as when
 * an administrator ends it.
 *
 * Source: https://www.postgresql.org/docs/15/errcodes-appendix.html
 */
function isLoss(error: unknown): boolean {
  return error instanceof LostConnectionError || sqlStateOf(error)?.startsWith("57P") === true;
}

function needsHolds({ needs }: StockWriteTask<unknown>): boolean {
  return needs.petIdsNeedingHolds.length + needs.holdIds.length > 0;
}

/**
 * Moves the head in a group that does not move it by itself, because its changes were refused. Returns whether it has
 * done so. The position that this takes belongs to no hold.
 */
async function moveHead(connection: Connection, set: WorkingSet): Promise<boolean> {
  if (set.changes.length + set.newHolds.length > 0) {
    return false;
  }
  set.skipHoldPosition();
  await connection.query(`UPDATE head SET hold_position = $1`, set.head.holdPosition);
  return true;
}

/** Decides on a write. Returns how its caller is to be told once the group is durable. */
function decide({ task, resolve, reject }: Waiter, set: WorkingSet): () => void {
  try {
    const written = task.run(set) as Written<never>;
    return () => resolve(written);
  } catch (error) {
    if (error instanceof DomainError) {
      return () => reject(error);
    }
    throw error;
  }
}

/**
 * As `decide`, for a write that is durable already. If its result cannot be worked out, the caller gets `UNAVAILABLE`,
 * which leaves open whether the write was done.
 */
function tellWritten(waiter: Waiter, set: WorkingSet): () => void {
  try {
    const written = waiter.task.run(set) as Written<never>;
    return () => waiter.resolve(written);
  } catch (error) {
    return () => waiter.reject(storeUnavailable(error));
  }
}

/** Calls all, also after one that throws. Such an error is a bug, and not a failure of the writes: it is uncaught. */
function callAll(calls: readonly (() => void)[]): void {
  for (const call of calls) {
    try {
      call();
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

function failAll(waiters: readonly Waiter[], reason: unknown): void {
  for (const { reject } of waiters) {
    reject(reason);
  }
}
