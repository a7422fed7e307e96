import { limitsUnavailable } from "../../domain/errors.ts";
import type { ValkeyLink } from "./link.ts";
import type { LimitScripts } from "./scripts.ts";
import { TurnQuestions } from "./turn-questions.ts";

/** What counting needs. */
export interface CountingOptions {
  readonly link: ValkeyLink;
  readonly clock: SharedClock;
  readonly scripts: LimitScripts;
  /** Whether this server counts by itself while Valkey is away; else it refuses. */
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
    return this.#isFallbackLocal && !this.link.isHere;
  }

  /** How many decisions this server has made by itself. */
  get localDecisions(): number {
    return this.#local;
  }

  countDecision(): void {
    this.#local += 1;
  }

  /** Decides without Valkey, as `decide` does; rejects with `UNAVAILABLE` where this server is to refuse. */
  async decideAlone<Answer>(decide: () => Answer | Promise<Answer>): Promise<Answer> {
    if (!this.#isFallbackLocal) {
      throw limitsUnavailable();
    }
    this.#local += 1;
    return await decide();
  }
}

/** Valkey's clock, as a server knows it from the last answer. Windows and bans go on by it while Valkey is away. */
export class SharedClock {
  readonly #ownClock: () => number;
  #aheadMs = 0;

  /** `ownClock` is in milliseconds since the Unix epoch, and so is the shared one. */
  constructor(ownClock: () => number) {
    this.#ownClock = ownClock;
  }

  readonly now = (): number => Math.round(this.#ownClock() + this.#aheadMs);

  /** Is told what Valkey's clock shows. */
  learn(nowMs: number): void {
    this.#aheadMs = nowMs - this.#ownClock();
  }
}
