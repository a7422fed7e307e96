import { DomainError } from "../../../domain/errors.ts";
import { DamagedRowError } from "../column-values.ts";
import { type Connection, isMediumFailure } from "../connection.ts";
import { type FileIdentity, StoreFileError } from "../files/store-path.ts";
import { headOf, lineageOf } from "../history-bounds.ts";
import { type CommandResult, changeStock } from "../stock-commands.ts";
import { type ChangeCounter, ChangeTracker, countChange } from "./change-counters.ts";
import { answerDone, answerRefused, inMessage, isChange, lastRevision } from "./command-answer.ts";
import type { QueuedAnswer, QueuedCommand } from "./command-queue.ts";
import {
  type CommittedWrites,
  type Failure,
  type Outcome,
  type Refusal,
  type Task,
  writeCounters,
  writes,
} from "./writes.ts";

/** What becomes of a group that is committed, for the serving thread. */
export interface WrittenGroup {
  /** One for each command, for the queue. */
  readonly answers: readonly QueuedAnswer[];
  readonly message: CommittedWrites;
}

/** Runs one command, in whichever way. */
type RunCommand = (queued: QueuedCommand, counters: Set<ChangeCounter>) => QueuedAnswer | Outcome;

/** Writes groups of commands and tasks: each group in one transaction, with one sync. */
export class GroupWriter {
  readonly #connection: Connection;
  readonly #file: FileIdentity;
  readonly #changes: ChangeTracker;

  constructor(connection: Connection, file: FileIdentity) {
    this.#connection = connection;
    this.#file = file;
    this.#changes = new ChangeTracker(connection);
  }

  /**
   * Commits a group. A command or task that is refused, or fails alone, leaves the others alone; returns what became of
   * each. Throws when the group fails as a whole, and nothing of it has been done then.
   *
   * A savepoint for each command would cost a fifth of the time. So they are run without; and when one fails, once more
   * with savepoints.
   */
  commit(commands: readonly QueuedCommand[], tasks: readonly Task[]): WrittenGroup {
    this.#file.assertUnmoved();
    try {
      return this.#commit(commands, tasks, this.#runCommand);
    } catch (error) {
      if (!(error instanceof FailedCommand)) {
        throw error;
      }
      return this.#commit(commands, tasks, this.#runCommandInSavepoint);
    }
  }

  #commit(commands: readonly QueuedCommand[], tasks: readonly Task[], runCommand: RunCommand): WrittenGroup {
    const counters = new Set<ChangeCounter>();
    let workedAtMs = 0;
    const done = this.#connection.atomically(() => {
      const results = commands.map((queued) => runCommand(queued, counters));
      const ofTasks = tasks.length === 0 ? undefined : this.#runTasks(tasks, counters);
      for (const counter of counters) {
        countChange(this.#connection, counter);
      }
      workedAtMs = performance.now();
      return { ...toAnswers(results), ...ofTasks };
    });
    const syncMs = performance.now() - workedAtMs;
    const { answers, commandOutcomes, outcomes = [], petIds = [], head = lastRevision(answers) } = done;
    this.#changes.addOwn(counters, answers.filter(isChange).length + petIds.length);
    const totals = { commandCount: commands.length, lineage: lineageOf(this.#connection), revision: head };
    const size = commands.length + tasks.filter(({ name }) => name !== "changeTokens").length;
    const isPlain = commandOutcomes.length === 0 && tasks.length === 0;
    return {
      answers,
      message: { ...totals, size, syncMs, ...(!isPlain && { others: { commandOutcomes, tasks: outcomes, petIds } }) },
    };
  }

  readonly #runCommand: RunCommand = ({ command, context }, counters) => {
    try {
      return toResult(changeStock(this.#connection, command, context), counters);
    } catch (error) {
      if (error instanceof DomainError) {
        return toRefusal(error);
      }
      throw this.#connection.inTransaction ? new FailedCommand("a command has failed", { cause: error }) : error;
    }
  };

  readonly #runCommandInSavepoint: RunCommand = ({ command, context }, counters) => {
    try {
      return this.#connection.atomically(() => toResult(changeStock(this.#connection, command, context), counters));
    } catch (error) {
      return error instanceof DomainError ? toRefusal(error) : this.#toOwnFailure(error);
    }
  };

  #runTasks(tasks: readonly Task[], counters: Set<ChangeCounter>) {
    const head = headOf(this.#connection);
    const outcomes = tasks.map((task) => this.#runTask(task, counters));
    const petIds = changedPetsSince(this.#connection, head);
    return { outcomes, petIds, head: Number(head) + petIds.length };
  }

  #runTask(task: Task, counters: Set<ChangeCounter>): Outcome {
    try {
      if (task.name === "changeTokens") {
        return { value: this.#changes.tokens() };
      }
      const write = writes[task.name] as (connection: Connection, ...args: readonly unknown[]) => unknown;
      counters.add(writeCounters[task.name]);
      return this.#connection.atomically(() => valueOrRefusal(() => write(this.#connection, ...task.args)));
    } catch (error) {
      return this.#toOwnFailure(error);
    }
  }

  /** A failed statement leaves the others of its group alone, unless SQLite has rolled the whole transaction back. */
  #toOwnFailure(error: unknown): Failure {
    if (!this.#connection.inTransaction) {
      throw error;
    }
    return toFailure(error);
  }
}

/** The pets of the changes after a revision, in the order of revisions. */
function changedPetsSince(connection: Connection, revision: bigint): bigint[] {
  return connection
    .all<{ readonly pet_id: bigint }>(`SELECT pet_id FROM changes WHERE revision > ? ORDER BY revision`, revision)
    .map((row) => row.pet_id);
}

/** A command has failed, and may have left half of its work behind. */
class FailedCommand extends Error {}

function toResult(result: CommandResult, counters: Set<ChangeCounter>): QueuedAnswer | Outcome {
  switch (result.outcome) {
    case "done":
      return answerDone(result.stock);
    case "replayed":
      return { value: { value: result.entry, isReplayed: true } };
    default:
      // A refused command may have noted which holds are over.
      counters.add("others");
      return answerRefused(result);
  }
}

/** Separates the outcomes that do not fit into the queue. */
function toAnswers(results: readonly (QueuedAnswer | Outcome)[]): {
  answers: QueuedAnswer[];
  commandOutcomes: Outcome[];
} {
  const commandOutcomes: Outcome[] = [];
  const answers = results.map((result) => {
    if ("code" in result) {
      return result;
    }
    commandOutcomes.push(result);
    return inMessage;
  });
  return { answers, commandOutcomes };
}

/** What a refusal has noted, such as which holds are over, stays. */
function valueOrRefusal(write: () => unknown): Outcome {
  try {
    return { value: write() };
  } catch (error) {
    if (error instanceof DomainError) {
      return toRefusal(error);
    }
    throw error;
  }
}

function toRefusal({ code, message }: DomainError): Refusal {
  return { refusal: { code, message } };
}

/** Between threads an error loses its code, which tells more than the message: whether a write failed, or a sync. */
export function toFailure(error: unknown): Failure {
  if (isMediumFailure(error)) {
    return { error: new Error(`${error.message} (${error.code})`), isMediumFailure: true };
  }
  return {
    error: error as Error,
    isMediumFailure: error instanceof DamagedRowError || error instanceof StoreFileError,
  };
}
