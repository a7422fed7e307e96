import type { Key, Plan } from "../../domain/key.ts";
import { decide, describeLimits, type KeyLimits, refusalsForBan } from "../../domain/limits.ts";
import type { RateLimitDecision } from "../../domain/rate-limit-decision.ts";
import type { Usage } from "../../domain/usage.ts";
import { allowanceOf, type KeyRateLimiter } from "../key-rate-limiter.ts";
import type { CachedUsage, UsageCache } from "../usage-cache.ts";
import type { UsageSaves } from "../usage-saves.ts";
import type { Counting } from "./counting.ts";
import { parseUsageReply } from "./replies.ts";
import type { Apply, QuestionKind } from "./turn-questions.ts";

/** What the limiter needs. */
export interface SharedKeyRateLimiterOptions {
  readonly counting: Counting;
  /** The usage of keys in memory, and its saving to the store. */
  readonly cache: UsageCache;
  readonly saves: UsageSaves;
  /** Hears each decision, with the plan of its key. */
  readonly decided?: ((decision: RateLimitDecision, plan: Plan) => void) | undefined;
}

/**
 * Creates a limiter that has Valkey count the requests of keys, for all servers together. The store gets what this
 * server has counted, as it would without Valkey: the sum over all servers is what `keys show` tells.
 */
export function createSharedKeyRateLimiter(options: SharedKeyRateLimiterOptions): KeyRateLimiter {
  const { counting, cache, saves, decided } = options;
  const answers = new SharedKeyAnswers(counting, cache);

  const charge = (key: Key) => (usage: Usage, nowMs: number) => {
    const answer = decide(usage, allowanceOf(key), nowMs);
    decided?.(answer, key.plan);
    return { answer, after: answer.usage };
  };
  const look = (key: Key) => (usage: Usage, nowMs: number) => {
    const answer: KeyLimits = { plan: key.plan, ...describeLimits(usage, allowanceOf(key), nowMs) };
    return { answer, after: usage };
  };

  return {
    decideNow: (key) => answers.giveNow(key, charge(key)),
    decide: (key) => answers.give<RateLimitDecision>(key, 1, charge(key)),
    describeNow: (key) => answers.giveNow(key, look(key)),
    describe: (key) => answers.give(key, 0, look(key)),
    noteDeprecatedCall: (key, method) => cache.noteDeprecatedCall(key.id, method, counting.clock.now()),
    close: () => saves.close(),
  };
}

/** Answers requests of keys by what Valkey has counted, or by what this server knows while Valkey is away. */
class SharedKeyAnswers {
  readonly #counting: Counting;
  readonly #cache: UsageCache;

  constructor(counting: Counting, cache: UsageCache) {
    this.#counting = counting;
    this.#cache = cache;
  }

  /** Undefined where Valkey is to be asked, and where the store is. */
  giveNow<Answer>(key: Key, apply: Apply<Usage, Answer>): Answer | undefined {
    const entry = this.#counting.isLocal ? this.#cache.find(key.id) : undefined;
    if (entry === undefined) {
      return undefined;
    }
    this.#counting.countDecision();
    return this.#giveAlone(entry, apply);
  }

  give<Answer>(key: Key, charges: 0 | 1, apply: Apply<Usage, Answer>): Promise<Answer> {
    const { link, questions } = this.#counting;
    const unanswered = () =>
      this.#counting.decideAlone(async () => this.#giveAlone(await this.#cache.load(key.id), apply));
    return link.isHere ? questions.ask(key, () => this.#usageOf(key), { charges, apply, unanswered }) : unanswered();
  }

  /** Goes on from what this server last knew of a key over all servers, or else from what the store has. */
  #giveAlone<Answer>(entry: CachedUsage, apply: Apply<Usage, Answer>): Answer {
    const base = entry.shared ?? entry.usage;
    const atMs = this.#counting.clock.now();
    const { answer, after } = apply(base, atMs);
    this.#cache.note(entry.keyId, { base, usage: after, atMs });
    return answer;
  }

  #usageOf(key: Key): QuestionKind<Usage> {
    const { clock, scripts } = this.#counting;
    const { quota, unbans } = allowanceOf(key);
    const allowed = [quota.perMinute, quota.perDay, refusalsForBan(quota), unbans];
    return {
      call: (requests) => ({ script: scripts.chargeKey, key: usageName(key.id), args: [requests, ...allowed] }),
      parse: parseUsageReply,
      learned: (base, usage, atMs) => {
        clock.learn(atMs);
        this.#cache.note(key.id, { base, usage, atMs });
      },
    };
  }
}

/** The name of a key's usage in Valkey. The braces keep all that belongs to a key on one node of a cluster. */
function usageName(keyId: string): string {
  return `petstore:{${keyId}}:usage`;
}
