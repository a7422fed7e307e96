import { decideAnonymous, type RateLimitDecision, type Window } from "../domain/limits.ts";
import { clientNetwork } from "../http/client-address.ts";

/** The most networks that are counted at a time, some 20 MB. The network that has been idle for longest goes first. */
const maxNetworks = 100_000;

/** The windows of networks, by `clientNetwork`. */
export class NetworkWindows {
  readonly #windows = new Map<string, Window>();

  get(network: string): Window | undefined {
    return this.#windows.get(network);
  }

  set(network: string, window: Window): void {
    // Deleted and set, so that the map is in the order of the last requests.
    this.#windows.delete(network);
    this.#windows.set(network, window);
    if (this.#windows.size > maxNetworks) {
      this.#windows.delete(this.#windows.keys().next().value as string);
    }
  }
}

/** Counts requests without a valid key by the client's network, in memory alone. */
export interface AnonymousRateLimiter {
  /** Decides on a request from an address, and charges it. */
  decideNow(address: string): RateLimitDecision;
  /** The same. What counts in memory never has to ask. */
  decide(address: string): Promise<RateLimitDecision>;
}

/**
 * Creates a limiter for requests without a valid key. `decided` hears each decision.
 *
 * A request that cannot have a valid key is charged without asking the store: no key, a malformed one, or one that the
 * store has said it does not know (see `createKeyCache`). Any other key is looked up first, even when the network has
 * used up its limit: a valid key works from every network. So made-up keys cost one look-up each, and a key that is
 * sent again and again costs one look-up in all.
 */
export function createAnonymousRateLimiter(
  clock: () => number,
  decided?: (decision: RateLimitDecision) => void,
): AnonymousRateLimiter {
  const windows = new NetworkWindows();
  function decideNow(address: string): RateLimitDecision {
    const network = clientNetwork(address);
    const decision = decideAnonymous(windows.get(network), clock());
    windows.set(network, decision.window);
    decided?.(decision);
    return decision;
  }
  return { decideNow, decide: async (address) => decideNow(address) };
}
