import type { ScriptCall } from "./connection.ts";
import type { Reply } from "./scripts.ts";

/** What is asked about one state: the requests of one turn of the event loop that concern the same key or network. */
export interface QuestionKind<State> {
  /** The run of the script that charges so many requests. */
  call(requests: number): ScriptCall;
  parse(reply: string): Reply<State>;
  /** Hears what the requests have made of the state. */
  learned(before: State, after: State, nowMs: number): void;
}

/** Works out what one request makes of a state. */
type Step<State> = (state: State, nowMs: number) => State;

/** Works out what one request is answered, and what it makes of a state. */
export type Apply<State, Answer> = (state: State, nowMs: number) => { readonly answer: Answer; readonly after: State };

/** The requests of one turn about one state. Each is told the state before it. */
class Question<State> {
  readonly #kind: QuestionKind<State>;
  readonly #steps: Step<State>[] = [];
  readonly #unanswered: (() => void)[] = [];
  #charges = 0;

  constructor(kind: QuestionKind<State>) {
    this.#kind = kind;
  }

  add(charges: 0 | 1, step: Step<State>, unanswered: () => void): void {
    this.#charges += charges;
    this.#steps.push(step);
    this.#unanswered.push(unanswered);
  }

  get call(): ScriptCall {
    return this.#kind.call(this.#charges);
  }

  answer(reply: unknown): void {
    const { nowMs, before } = this.#kind.parse(String(reply));
    let after = before;
    for (const step of this.#steps) {
      after = step(after, nowMs);
    }
    this.#kind.learned(before, after, nowMs);
  }

  fail(): void {
    for (const unanswered of this.#unanswered) {
      unanswered();
    }
  }
}

/** One request's part of a question. */
export interface Request<State, Answer> {
  /** Whether it is charged, or only wants to know. */
  readonly charges: 0 | 1;
  /** Works out the answer, and what the request makes of the state. */
  readonly apply: Apply<State, Answer>;
  /** The answer where nobody else gives one. */
  readonly unanswered: () => Promise<Answer>;
}

/**
 * Collects the questions of one turn of the event loop, and asks them all in one round trip. The server charges all
 * requests about a state in one step; what each of them is answered, the rules of `domain/` tell from the state before.
 */
export class TurnQuestions {
  readonly #run: (calls: readonly ScriptCall[]) => Promise<readonly unknown[]>;
  // biome-ignore lint/suspicious/noExplicitAny: each subject has a state of its own type.
  #open = new Map<unknown, Question<any>>();

  constructor(run: (calls: readonly ScriptCall[]) => Promise<readonly unknown[]>) {
    this.#run = run;
  }

  /** Asks about a state. `subject` is the same value for all questions of a turn that go together. */
  ask<State, Answer>(
    subject: unknown,
    kind: () => QuestionKind<State>,
    { charges, apply, unanswered }: Request<State, Answer>,
  ): Promise<Answer> {
    return new Promise((resolve) => {
      const step: Step<State> = (state, nowMs) => {
        const { answer, after } = apply(state, nowMs);
        resolve(answer);
        return after;
      };
      this.#questionOf(subject, kind).add(charges, step, () => resolve(unanswered()));
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
