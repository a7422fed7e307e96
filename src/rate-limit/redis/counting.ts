import { limitsUnavailable } from "../../domain/errors.ts";
import type { ScriptCall } from "./connection.ts";
import type { ValkeyLink } from "./link.ts";
import type { LimitScripts, Reply } from "./scripts.ts";

/** What counting needs. */
interface CountingOptions {
  readonly link: ValkeyLink;
  readonly clock: SharedClock;
  readonly scripts: LimitScripts;
  /** Whether this server counts by itself while Valkey is away. Otherwise it refuses requests. */
  readonly isFallbackLocal: boolean;
}

/** What the counts of keys, of networks and of streams share. */
export class Counting {
  readonly link: ValkeyLink;
  readonly clock: SharedClock;
  readonly scripts: LimitScripts;
  readonly questions: TurnQuestions;
  readonly #isFallbackLocal: boolean;
  #local = 0;

  constructor({ link, clock, scripts, isFallbackLocal }: CountingOptions) {
    this.link = link;
    this.clock = clock;
    this.scripts = scripts;
    this.questions = new TurnQuestions((calls) => link.run(calls));
    this.#isFallbackLocal = isFallbackLocal;
  }

  /** Whether this server counts by itself at present. */
  get isLocal(): boolean {
    return this.#isFallbackLocal && !this.link.isConnected;
  }

  /** How many requests this server has decided on by itself. */
  get localDecisions(): number {
    return this.#local;
  }

  /** Counts an answer of this server's own. `charges` is 1 for a decision on a request, and 0 for any other answer. */
  countLocally(charges: 0 | 1): void {
    this.#local += charges;
  }

  /**
   * Answers without Valkey, by `answer`, and counts it. Rejects with `UNAVAILABLE` if this server must not count by
   * itself.
   */
  async answerAlone<Answer>(charges: 0 | 1, answer: () => Answer | Promise<Answer>): Promise<Answer> {
    if (!this.#isFallbackLocal) {
      throw limitsUnavailable();
    }
    this.countLocally(charges);
    return await answer();
  }
}

/**
 * Valkey's clock, as this server knows it from the last answer. Windows and bans follow it while Valkey is away, too.
 */
export class SharedClock {
  readonly #ownClock: () => number;
  #aheadMs = 0;

  /** `ownClock` is in milliseconds since the Unix epoch, and so is the shared one. */
  constructor(ownClock: () => number) {
    this.#ownClock = ownClock;
  }

  readonly now = (): number => Math.round(this.#ownClock() + this.#aheadMs);

  /** Sets the clock to the time of an answer from Valkey. */
  learn(nowMs: number): void {
    this.#aheadMs = nowMs - this.#ownClock();
  }
}

/** How a question about one state is asked: the usage of a key, or the window of a network. */
export interface QuestionKind<State> {
  /** The script call that charges this many requests. */
  call(requests: number): ScriptCall;
  parse(reply: string): Reply<State>;
  /** Is called with the state before and after the requests. */
  learned(before: State, after: State, nowMs: number): void;
}

/** Computes the answer to one request, and the state after it. */
export type Apply<State, Answer> = (state: State, nowMs: number) => { readonly answer: Answer; readonly after: State };

/** One request of a question. */
interface Request<State, Answer> {
  /** 1 if the request is charged, 0 if it only reads the state. */
  readonly charges: 0 | 1;
  readonly apply: Apply<State, Answer>;
  /** Makes the answer if Valkey gives none. */
  readonly unanswered: () => Promise<Answer>;
}

/**
 * Collects the questions of one turn of the event loop, and asks them all in one round trip. Valkey charges all
 * requests about a state in one step, and returns the state before them. From that state, the rules of `domain/`
 * compute the answer to each request.
 */
class TurnQuestions {
  readonly #run: (calls: readonly ScriptCall[]) => Promise<readonly unknown[]>;
  // biome-ignore lint/suspicious/noExplicitAny: each subject has a state of its own type.
  #open = new Map<unknown, Question<any>>();

  constructor(run: (calls: readonly ScriptCall[]) => Promise<readonly unknown[]>) {
    this.#run = run;
  }

  /**
   * Asks about a state. `subject` identifies the state: requests of one turn with the same subject share a question.
   */
  ask<State, Answer>(
    subject: unknown,
    kind: () => QuestionKind<State>,
    { charges, apply, unanswered }: Request<State, Answer>,
  ): Promise<Answer> {
    return new Promise((resolve) => {
      this.#questionOf(subject, kind).add(charges, {
        answer(state, nowMs) {
          const { answer, after } = apply(state, nowMs);
          resolve(answer);
          return after;
        },
        fail: () => resolve(unanswered()),
      });
    });
  }

  #questionOf<State>(subject: unknown, kind: () => QuestionKind<State>): Question<State> {
    const open = this.#open.get(subject);
    if (open !== undefined) {
      return open;
    }
    if (this.#open.size === 0) {
      setImmediate(() => void this.#send());
    }
    const question = new Question(kind());
    this.#open.set(subject, question);
    return question;
  }

  async #send(): Promise<void> {
    const questions = [...this.#open.values()];
    this.#open = new Map();
    const replies = await this.#run(questions.map(({ call }) => call)).catch(() => undefined);
    for (const [index, question] of questions.entries()) {
      if (replies === undefined) {
        question.fail();
      } else {
        question.answer(replies[index]);
      }
    }
  }
}

/** A request whose caller waits. */
interface Waiter<State> {
  /** Answers it, and returns the state after it. */
  readonly answer: (state: State, nowMs: number) => State;
  /** Answers it without Valkey. */
  readonly fail: () => void;
}

/** The requests of one turn about one state. Each one applies to the state that the one before it leaves. */
class Question<State> {
  readonly #kind: QuestionKind<State>;
  readonly #waiters: Waiter<State>[] = [];
  #charges = 0;

  constructor(kind: QuestionKind<State>) {
    this.#kind = kind;
  }

  add(charges: 0 | 1, waiter: Waiter<State>): void {
    this.#charges += charges;
    this.#waiters.push(waiter);
  }

  get call(): ScriptCall {
    return this.#kind.call(this.#charges);
  }

  answer(reply: unknown): void {
    const { nowMs, before } = this.#kind.parse(String(reply));
    let after = before;
    for (const waiter of this.#waiters) {
      after = waiter.answer(after, nowMs);
    }
    this.#kind.learned(before, after, nowMs);
  }

  fail(): void {
    for (const waiter of this.#waiters) {
      waiter.fail();
    }
  }
}
