import { type ChangeCounter, ChangeTracker, countChange } from "../change-tokens.ts";
import type { Connection } from "../connection.ts";
import { StockWrites } from "../stock.ts";
import { type StockCache, stockCacheOf } from "../stock-cache.ts";
import type { FileIdentity } from "../store-file.ts";
import {
  answerDone,
  answerRefused,
  inMessage,
  isChange,
  lastRevision,
  type QueuedAnswer,
  type QueuedCommand,
} from "./command-queue.ts";
import { type Failure, resultOrRefusal, toFailure, type WriteOutcome } from "./outcome.ts";
import { StockApplier } from "./stock-applier.ts";
import { type CommandResult, changeStock } from "./stock-commands.ts";
import { type CommittedWrites, dated, datedArgs, type Task, writeCounters, writes } from "./writes.ts";

/** The result of a committed group, for the serving thread. */
interface WrittenGroup {
  /** One for each command, for the queue. */
  readonly answers: readonly QueuedAnswer[];
  readonly message: CommittedWrites;
}

/** How many pets' changes are applied in one step while nobody writes: a millisecond or two. */
const appliedPerStep = 512;

/** The most steps that a writer takes before it closes. They suffice, unless other processes go on writing. */
const closingSteps = 64;

/** How many pets' changes are applied in each of them: some 10 ms. */
const appliedPerClosingStep = 4_096;

/** How a group is written. */
interface GroupWriterOptions {
  /** See `StockApplier`. Only tests set it. */
  readonly mostUnapplied?: number | undefined;
  /** The clock by which writes happen that have waited. Without it each happens at the time that it names. */
  readonly clock?: (() => number) | undefined;
}

/** Runs a part of a group: all commands or one of them, or a task. */
type RunPart = <T>(run: () => T) => T | Failure;

/** Writes groups of commands and tasks: each group in one transaction, with one sync. */
export class GroupWriter {
  readonly #connection: Connection;
  readonly #file: FileIdentity;
  readonly #clock: (() => number) | undefined;
  readonly #changes: ChangeTracker;
  readonly #applier: StockApplier;
  readonly #cache: StockCache;

  constructor(connection: Connection, file: FileIdentity, { mostUnapplied, clock }: GroupWriterOptions = {}) {
    this.#connection = connection;
    this.#file = file;
    this.#clock = clock;
    this.#changes = new ChangeTracker(connection);
    this.#applier = new StockApplier(connection, mostUnapplied);
    this.#cache = stockCacheOf(connection);
  }

  /**
   * Commits a group, and returns the outcome of each command and task. If one is refused or fails, the others are still
   * done. Throws when the group fails as a whole, and has done nothing of it then.
   *
   * Savepoints would take a good part of the time, so the group first runs without them. If a part fails, the group is
   * rolled back, and runs once more with each part in a savepoint of its own.
   */
  commit(commands: readonly QueuedCommand[], tasks: readonly Task[]): WrittenGroup {
    this.#file.assertUnmoved();
    try {
      return this.#commit(commands.length === 0 ? [] : [commands], tasks, this.#runWithAll);
    } catch (error) {
      if (!(error instanceof FailedPart)) {
        throw error;
      }
      return this.#commit(
        commands.map((command) => [command]),
        tasks,
        this.#runApart,
      );
    }
  }

  /** Applies some changes to the stock, while there is nothing else to do. False when there are no more. */
  applyStep(pets = appliedPerStep): boolean {
    this.#file.assertUnmoved();
    const counters: ChangeCounter[] = [];
    const hasMore = this.#transact(() => {
      if (this.#applier.hasMore) {
        this.#applier.apply(pets);
        // Without this count, other processes would take the commit for one of another program.
        countChange(this.#connection, "others");
        counters.push("others");
      }
      return this.#applier.hasMore;
    });
    this.#changes.addOwn(counters, 0);
    return hasMore;
  }

  /**
   * Applies the remaining changes, so that other programs can read the table `stock` without the history. To be called
   * before the connection closes.
   */
  applyRest(): void {
    try {
      for (let steps = 0; steps < closingSteps && this.applyStep(appliedPerClosingStep); steps++) {}
    } catch {
      // The disk fails. The changes are in the history, and are applied later.
    }
  }

  #transact<T>(work: () => T): T {
    try {
      return this.#atomically(() => {
        this.#cache.expire();
        return work();
      });
    } catch (error) {
      // A part fails before the applier runs, which then need not start anew.
      if (!(error instanceof FailedPart)) {
        this.#applier.startAnew();
      }
      throw error;
    }
  }

  /** Runs a transaction or a savepoint. A rollback also takes back what the cache has noted. */
  #atomically<T>(work: () => T): T {
    const { position } = this.#cache;
    try {
      return this.#connection.atomically(work);
    } catch (error) {
      this.#cache.goBack(position);
      throw error;
    }
  }

  #commit(parts: readonly (readonly QueuedCommand[])[], tasks: readonly Task[], runPart: RunPart): WrittenGroup {
    const result = this.#transact(() => this.#run(parts, tasks, runPart));
    const syncMs = performance.now() - result.workedAtMs;
    const { answers, petIds, counters } = result;
    this.#changes.addOwn(counters, answers.filter(isChange).length + petIds.length);
    return { answers, message: toMessage(result, { tasks, lineage: this.#cache.lineage, syncMs }) };
  }

  #run(parts: readonly (readonly QueuedCommand[])[], tasks: readonly Task[], runPart: RunPart): GroupResult {
    const counters = new Set<ChangeCounter>();
    // Before the group's own changes, which do not count as own ones until they are committed.
    const tokens = runPart(() => ({ value: tasks.some(asksForTokens) ? this.#changes.tokens() : undefined }));
    const results = parts.flatMap((commands) => runPart(() => this.#runCommands(commands, counters)));
    const ofTasks = tasks.length === 0 ? noTasks : this.#runTasks(tasks, counters, tokens, runPart);
    for (const counter of counters) {
      countChange(this.#connection, counter);
    }
    this.#applier.applyInGroup(this.#cache.changes);
    return { ...toAnswers(results), ...ofTasks, counters, workedAtMs: performance.now() };
  }

  readonly #runWithAll: RunPart = (run) => {
    try {
      return run();
    } catch (error) {
      throw this.#connection.inTransaction ? new FailedPart("a part has failed", { cause: error }) : error;
    }
  };

  /** A failed statement leaves the other parts alone, unless SQLite has rolled the whole transaction back. */
  readonly #runApart: RunPart = (run) => {
    try {
      return this.#atomically(run);
    } catch (error) {
      if (!this.#connection.inTransaction) {
        throw error;
      }
      return toFailure(error);
    }
  };

  #runCommands(commands: readonly QueuedCommand[], counters: Set<ChangeCounter>): (QueuedAnswer | WriteOutcome)[] {
    const connection = this.#connection;
    const petIds = commands.map(({ command }) => command.petId);
    const stockWrites = new StockWrites(connection, petIds);
    const { heldChanges } = this.#cache;
    const leastMs = this.#clock?.() ?? 0;
    const results = commands.map(({ command, context }) => {
      const setting = { connection, writes: stockWrites, context: dated(context, leastMs) };
      return resultOrRefusal(() => toResult(changeStock(command, setting)));
    });
    stockWrites.flush();
    if (this.#cache.heldChanges > heldChanges) {
      // Holds were stored as expired, maybe for a command that was refused.
      counters.add("others");
    }
    return results;
  }

  #runTasks(tasks: readonly Task[], counters: Set<ChangeCounter>, tokens: WriteOutcome, runPart: RunPart): TaskResults {
    const { changes } = this.#cache;
    const taskOutcomes = tasks.map((task) =>
      asksForTokens(task) ? tokens : runPart(() => this.#runWrite(task, counters)),
    );
    const petIds = this.#cache.changedPetIds(changes);
    // Asked for the head, the cache reads all unapplied changes: a task that concerns no stock does without.
    return { taskOutcomes, petIds, head: petIds.length === 0 ? undefined : Number(this.#cache.head) };
  }

  #runWrite({ name, args: given }: WriteTask, counters: Set<ChangeCounter>): WriteOutcome {
    const write = writes[name] as (connection: Connection, ...args: readonly unknown[]) => unknown;
    counters.add(writeCounters[name]);
    const args = datedArgs(name, given, this.#clock?.() ?? 0);
    return resultOrRefusal(() => ({ value: write(this.#connection, ...args) }));
  }
}

type TokensTask = Extract<Task, { readonly name: "changeTokens" }>;
type WriteTask = Exclude<Task, TokensTask>;

function asksForTokens(task: Task): task is TokensTask {
  return task.name === "changeTokens";
}

/** What the tasks of a group have done. */
interface TaskResults {
  readonly taskOutcomes: readonly WriteOutcome[];
  /** See `OtherOutcomes`. */
  readonly petIds: BigInt64Array;
  /** The newest revision, if tasks have changed stock. */
  readonly head: number | undefined;
}

const noTasks: TaskResults = { taskOutcomes: [], petIds: new BigInt64Array(), head: undefined };

/** What a group has done in its transaction. */
interface GroupResult extends TaskResults {
  readonly answers: readonly QueuedAnswer[];
  /** See `OtherOutcomes`. */
  readonly commandOutcomes: readonly WriteOutcome[];
  readonly counters: ReadonlySet<ChangeCounter>;
  /** When the work was done, by `performance.now()`. The commit and its sync follow. */
  readonly workedAtMs: number;
}

function toMessage(
  { answers, commandOutcomes, taskOutcomes, petIds, head }: GroupResult,
  { tasks, lineage, syncMs }: { readonly tasks: readonly Task[]; readonly lineage: string; readonly syncMs: number },
): CommittedWrites {
  const isPlain = commandOutcomes.length === 0 && tasks.length === 0;
  return {
    commandCount: answers.length,
    lineage,
    revision: head ?? lastRevision(answers),
    size: answers.length + tasks.filter((task) => !asksForTokens(task)).length,
    syncMs,
    others: isPlain ? undefined : { commandOutcomes, tasks: taskOutcomes, petIds },
  };
}

/** A part of a group has failed, and may have left half of its work behind. */
class FailedPart extends Error {}

function toResult(result: CommandResult): QueuedAnswer | WriteOutcome {
  switch (result.outcome) {
    case "done":
      return answerDone(result.stock);
    case "replayed":
      return { value: { value: result.entry, isReplayed: true } };
    default:
      return answerRefused(result);
  }
}

/** Separates the outcomes that do not fit into the queue. */
function toAnswers(results: readonly (QueuedAnswer | WriteOutcome)[]): {
  answers: QueuedAnswer[];
  commandOutcomes: WriteOutcome[];
} {
  const commandOutcomes: WriteOutcome[] = [];
  const answers = results.map((result) => {
    if ("code" in result) {
      return result;
    }
    commandOutcomes.push(result);
    return inMessage;
  });
  return { answers, commandOutcomes };
}
