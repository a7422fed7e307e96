import type { Key, Plan } from "../../domain/key.ts";
import {
  type AddressLimiter,
  allowanceOf,
  anonymousLimit,
  decide,
  decideAnonymous,
  describeAnonymousLimits,
  describeLimits,
  type KeyLimits,
  type RateLimitDecision,
  refusalsForBan,
  type Usage,
  type Window,
} from "../../domain/limits.ts";
import type { UsageStore } from "../../domain/store.ts";
import { clientNetwork } from "../../http/client-address.ts";
import { type KeyRateLimiter, NetworkWindows } from "../rate-limiters.ts";
import { type CachedUsage, saveRegularly, UsageCache, type UsageSaves } from "../usage-cache.ts";
import { parseTarget } from "./client.ts";
import { openConnection } from "./connection.ts";
import { type Apply, Counting, type QuestionKind, SharedClock } from "./counting.ts";
import { type LinkObserver, ValkeyLink } from "./link.ts";
import { createScripts, parseUsageReply, parseWindowReply } from "./scripts.ts";
import { SharedStreamPlaces } from "./stream-places.ts";

/** What the limits need. */
export interface SharedLimitsOptions {
  /** The link to Valkey, which the limits close. */
  readonly link: ValkeyLink;
  /** Whether this server counts by itself while Valkey is away. Otherwise it refuses requests. */
  readonly isFallbackLocal: boolean;
  readonly store: UsageStore;
  readonly clock: () => number;
  /** Is called with each decision, and with the plan of its key, if it has one. */
  readonly decided?: ((decision: RateLimitDecision, plan?: Plan) => void) | undefined;
  /** Is called with the reason when the store has not taken the counts. They are saved again. */
  readonly report: (reason: unknown) => void;
}

/** Limits that Valkey counts for all servers together. */
export interface SharedLimits {
  readonly keys: KeyRateLimiter;
  readonly anonymous: AddressLimiter;
  readonly places: SharedStreamPlaces;
  /** Whether Valkey answers, as far as is known. */
  readonly isConnected: boolean;
  /** How many requests this server has decided on by itself. */
  readonly localDecisions: number;
  /** Counts no more, and resolves when the store has all counts. */
  close(): Promise<void>;
}

/**
 * Connects to Valkey or Redis, or keeps trying in the background. Rejects with `UnusableValkeyError` for a server that
 * cannot be used.
 */
export async function connectToValkey(url: string, observer: LinkObserver): Promise<ValkeyLink> {
  const target = parseTarget(url);
  const link = new ValkeyLink({ open: (signal) => openConnection(target, signal), observer });
  await link.start();
  return link;
}

/** Creates limits that Valkey counts. */
export function createSharedLimits(options: SharedLimitsOptions): SharedLimits {
  const { link, isFallbackLocal, store, decided, report } = options;
  const counting = new Counting({
    link,
    clock: new SharedClock(options.clock),
    scripts: createScripts(),
    isFallbackLocal,
  });
  const places = new SharedStreamPlaces(counting);
  const cache = new UsageCache(store);
  const saves = saveRegularly(cache, report);
  const keys = createSharedKeyRateLimiter({ counting, cache, saves, decided });
  return {
    keys,
    anonymous: createSharedAnonymousRateLimiter(counting, decided),
    places,
    get isConnected() {
      return link.isConnected;
    },
    get localDecisions() {
      return counting.localDecisions;
    },
    async close() {
      places.close();
      await link.close();
      await keys.close();
    },
  };
}

/** What the limiter of keys needs. */
interface SharedKeyRateLimiterOptions {
  readonly counting: Counting;
  /** The usage of keys in memory, and its saving to the store. */
  readonly cache: UsageCache;
  readonly saves: UsageSaves;
  /** Is called with each decision, and with the plan of its key. */
  readonly decided?: ((decision: RateLimitDecision, plan: Plan) => void) | undefined;
}

/**
 * Creates a limiter for keys. Valkey counts their requests for all servers together. The store gets what this server
 * has counted itself, as without Valkey. `keys show` tells the sum over all servers.
 */
function createSharedKeyRateLimiter(options: SharedKeyRateLimiterOptions): KeyRateLimiter {
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
    decideNow: (key) => answers.giveNow(key, 1, charge(key)),
    decide: (key) => answers.give<RateLimitDecision>(key, 1, charge(key)),
    describeNow: (key) => answers.giveNow(key, 0, look(key)),
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

  /** Answers from memory while this server counts by itself. Undefined if Valkey or the store must be asked. */
  giveNow<Answer>(key: Key, charges: 0 | 1, apply: Apply<Usage, Answer>): Answer | undefined {
    const entry = this.#counting.isLocal ? this.#cache.find(key.id) : undefined;
    if (entry === undefined) {
      return undefined;
    }
    this.#counting.countLocally(charges);
    return this.#giveAlone(entry, apply);
  }

  give<Answer>(key: Key, charges: 0 | 1, apply: Apply<Usage, Answer>): Promise<Answer> {
    const { link, questions } = this.#counting;
    const unanswered = () =>
      this.#counting.answerAlone(charges, async () => this.#giveAlone(await this.#cache.load(key.id), apply));
    return link.isConnected
      ? questions.ask(key, () => this.#usageOf(key), { charges, apply, unanswered })
      : unanswered();
  }

  /**
   * Decides by the key's usage over all servers, as this server last saw it, or else by the usage that the store has.
   */
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

/**
 * The name of a key's usage in Valkey. The braces are a hash tag, which keeps everything of one key on one node of a
 * cluster.
 */
function usageName(keyId: string): string {
  return `petstore:{${keyId}}:usage`;
}

/**
 * Creates a limiter of addresses whose counts Valkey keeps, for all servers together. It decides at once while this
 * server counts by itself. `decided` is called with each decision.
 */
function createSharedAnonymousRateLimiter(
  counting: Counting,
  decided?: (decision: RateLimitDecision) => void,
): AddressLimiter {
  const { clock, scripts, questions } = counting;
  const windows = new NetworkWindows();

  function windowOf(network: string): QuestionKind<Window | undefined> {
    const key = `petstore:{${network}}:anonymous`;
    return {
      call: (requests) => ({ script: scripts.chargeNetwork, key, args: [requests, anonymousLimit] }),
      parse: parseWindowReply,
      learned(_before, after, nowMs) {
        clock.learn(nowMs);
        if (after !== undefined) {
          windows.set(network, after);
        }
      },
    };
  }
  function charge(window: Window | undefined, nowMs: number) {
    const answer = decideAnonymous(window, nowMs);
    decided?.(answer);
    return { answer, after: answer.window };
  }
  function chargeAlone(network: string): RateLimitDecision {
    const { answer, after } = charge(windows.get(network), clock.now());
    windows.set(network, after);
    return answer;
  }
  function describe(window: Window | undefined, nowMs: number) {
    return { answer: describeAnonymousLimits(window, nowMs), after: window };
  }

  return {
    decideNow(address) {
      if (!counting.isLocal) {
        return undefined;
      }
      counting.countLocally(1);
      return chargeAlone(clientNetwork(address));
    },
    decide(address) {
      const network = clientNetwork(address);
      const unanswered = () => counting.answerAlone(1, () => chargeAlone(network));
      return counting.link.isConnected
        ? questions.ask(network, () => windowOf(network), { charges: 1, apply: charge, unanswered })
        : unanswered();
    },
    describe(address) {
      const network = clientNetwork(address);
      const unanswered = () => counting.answerAlone(0, () => describe(windows.get(network), clock.now()).answer);
      return counting.link.isConnected
        ? questions.ask(network, () => windowOf(network), { charges: 0, apply: describe, unanswered })
        : unanswered();
    },
  };
}
