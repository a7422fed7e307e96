import { decideAnonymous } from "../domain/anonymous-limit.ts";
import type { RateLimitDecision } from "../domain/rate-limit-decision.ts";
import type { Window } from "../domain/window.ts";
import { clientNetwork } from "../http/client-address.ts";

/** The most networks that are counted at a time, some 20 MB. Past it those heard of longest ago are forgotten. */
const maxNetworks = 100_000;

/** Counts the requests that are made without a valid key, by the client's network, in memory alone. */
export interface AnonymousRateLimiter {
  /** Judges and charges a request from an address. */
  decide(address: string): RateLimitDecision;
}

export function createAnonymousRateLimiter(clock: () => number): AnonymousRateLimiter {
  const windows = new Map<string, Window>();
  return {
    decide(address) {
      const network = clientNetwork(address);
      const decision = decideAnonymous(windows.get(network), clock());
      // Put in anew, so that the map's order is that of the last requests.
      windows.delete(network);
      windows.set(network, decision.window);
      if (windows.size > maxNetworks) {
        windows.delete(windows.keys().next().value as string);
      }
      return decision;
    },
  };
}
