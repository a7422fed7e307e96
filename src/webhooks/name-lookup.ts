import { Lane } from "../scheduling/lane.ts";
import type { LookUpAll } from "./address.ts";

type Options = Parameters<LookUpAll>[1];
type Callback = Parameters<LookUpAll>[2];

/** A name that takes longer to look up is slow, in milliseconds. */
const slowMs = 1_000;

/**
 * Shares the system's look-ups fairly. Node has only two of them under way at once, for the whole process, and one of a
 * dead name may take 20 s. So a name is looked up once at a time, and those that were slow before one after the other:
 * they leave a place to the rest.
 */
export function createFairLookup(lookUpAll: LookUpAll): LookUpAll {
  const asking = new Map<string, Callback[]>();
  const slowNames = new Set<string>();
  const slowLane = new Lane({ width: 1, most: Infinity, refusal: () => new Error("no name is refused its turn") });

  function start(name: string, options: Options, ended?: () => void): void {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      slowNames.add(name);
    }, slowMs).unref();
    lookUpAll(name, options, (error, addresses) => {
      clearTimeout(timer);
      if (!isSlow) {
        slowNames.delete(name);
      }
      const callbacks = asking.get(name) ?? [];
      asking.delete(name);
      ended?.();
      for (const callback of callbacks) {
        callback(error, addresses);
      }
    });
  }

  return (name, options, callback) => {
    const others = asking.get(name);
    if (others !== undefined) {
      others.push(callback);
      return;
    }
    asking.set(name, [callback]);
    if (slowNames.has(name)) {
      void slowLane.run(1, () => new Promise<void>((resolve) => start(name, options, resolve)));
    } else {
      start(name, options);
    }
  };
}
