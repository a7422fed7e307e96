import { anonymousLimit, decideAnonymous } from "../../domain/limits.ts";
import type { RateLimitDecision } from "../../domain/rate-limit-decision.ts";
import type { Window } from "../../domain/usage.ts";
import { clientNetwork } from "../../http/client-address.ts";
import { NetworkWindows } from "../anonymous-rate-limiter.ts";
import type { Counting } from "./counting.ts";
import { parseWindowReply } from "./replies.ts";
import type { QuestionKind } from "./turn-questions.ts";

/** Counts requests without a valid key by the client's network, for all servers together. */
export interface SharedAnonymousRateLimiter {
  /** Decides on a request from an address while Valkey is away, and charges it. Undefined where it has to be asked. */
  decideNow(address: string): RateLimitDecision | undefined;
  /** Decides on a request from an address, and charges it. Rejects with `UNAVAILABLE` where it is to be refused. */
  decide(address: string): Promise<RateLimitDecision>;
}

/** Creates a limiter that has Valkey count. `decided` hears each decision. */
export function createSharedAnonymousRateLimiter(
  counting: Counting,
  decided?: (decision: RateLimitDecision) => void,
): SharedAnonymousRateLimiter {
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

  return {
    decideNow(address) {
      if (!counting.isLocal) {
        return undefined;
      }
      counting.countDecision();
      return chargeAlone(clientNetwork(address));
    },
    decide(address) {
      const network = clientNetwork(address);
      const unanswered = () => counting.decideAlone(() => chargeAlone(network));
      return counting.link.isHere
        ? questions.ask(network, () => windowOf(network), { charges: 1, apply: charge, unanswered })
        : unanswered();
    },
  };
}
