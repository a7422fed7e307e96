import { setTimeout } from "node:timers/promises";
import type { Store } from "../domain/store.ts";
import { limitsAwayText, type Readiness, storeAwayText } from "../observability/status.ts";

/** How long a probe waits for the store, in milliseconds. By default Kubernetes gives up a probe after a second. */
const probeMs = 500;

/** How often the store is asked, in milliseconds. So a probe knows of a silence that began before it. */
const intervalMs = 1_000;

/**
 * How long the store may be silent before the server is not ready, in milliseconds. While a command such as an import
 * has locked the store, updates wait up to five seconds, and reads go on. A server that is not ready would get no reads
 * either.
 */
const patienceMs = 6_000;

/** What readiness depends on. */
export interface ReadinessOptions {
  readonly store: Pick<Store, "ready">;
  /** Whether requests can be counted, by Valkey or by this server alone. */
  readonly canCountLimits: () => boolean;
  readonly stopping: AbortSignal;
}

/**
 * Tells whether the server is ready. It asks the store one question at a time. A probe that cannot wait for the answer
 * hears whether the store has been silent for too long. The store comes before the limits: where both are away, the
 * store is named.
 */
export function createReadiness({ store, canCountLimits, stopping }: ReadinessOptions): () => Promise<Readiness> {
  let answeredAtMs = performance.now();
  let asking: Promise<Readiness> | undefined;

  function afterSilence(): Readiness {
    return performance.now() - answeredAtMs > patienceMs ? storeAwayText : "ready";
  }
  async function ask(): Promise<Readiness> {
    const askedAtMs = performance.now();
    try {
      await store.ready(AbortSignal.timeout(patienceMs));
      answeredAtMs = performance.now();
      return "ready";
    } catch {
      // A store that is locked refuses, too, but later.
      return performance.now() - askedAtMs < probeMs ? storeAwayText : afterSilence();
    } finally {
      asking = undefined;
    }
  }

  const timer = setInterval(() => {
    asking ??= ask();
  }, intervalMs).unref();
  stopping.addEventListener("abort", () => clearInterval(timer));
  return async () => {
    if (stopping.aborted) {
      return "stopping";
    }
    asking ??= ask();
    const late = setTimeout(probeMs, undefined, { ref: false }).then(afterSilence);
    const answer = await Promise.race([asking, late]);
    return answer === "ready" && !canCountLimits() ? limitsAwayText : answer;
  };
}
