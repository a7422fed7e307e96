import { clientNetwork } from "../http/client-address.ts";

/** How many one network may have open. To open one costs as much as some ten calls. */
const maxOfNetwork = 64;

/** How many there may be in all, some 30 MB. */
const maxInAll = 1_024;

/**
 * Counts the streams that are open without a key, which nothing else bounds: they may stay for as long as they like.
 */
export class OpenStreams {
  readonly #byNetwork = new Map<string, number>();
  #inAll = 0;

  /** Lets one more in, until what is returned is called; undefined when its network has enough of them, or all have. */
  enter(address: string): (() => void) | undefined {
    const network = clientNetwork(address);
    const open = this.#byNetwork.get(network) ?? 0;
    if (open >= maxOfNetwork || this.#inAll >= maxInAll) {
      return undefined;
    }
    this.#byNetwork.set(network, open + 1);
    this.#inAll += 1;
    return () => this.#leave(network);
  }

  #leave(network: string): void {
    this.#inAll -= 1;
    const open = (this.#byNetwork.get(network) ?? 1) - 1;
    if (open === 0) {
      this.#byNetwork.delete(network);
    } else {
      this.#byNetwork.set(network, open);
    }
  }
}
