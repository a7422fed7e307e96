import { limitsUnavailable } from "../../domain/errors.ts";
import type { ValkeyLink } from "./link.ts";
import type { LimitScripts } from "./scripts.ts";
import type { SharedClock } from "./shared-clock.ts";
import { TurnQuestions } from "./turn-questions.ts";

/** What counting needs. */
export interface CountingOptions {
  readonly link: ValkeyLink;
  readonly clock: SharedClock;
  readonly scripts: LimitScripts;
  /** Whether this server counts by itself while Valkey is away; else it refuses. */
  readonly isFallbackLocal: boolean;
}

/** What keys, networks and streams share that are counted in Valkey. */
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
