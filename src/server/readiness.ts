import { setTimeout } from "node:timers/promises";
import type { Store } from "../domain/store/store.ts";
import { limitsSilence, type Readiness, storeSilence } from "../observability/status.ts";

/** How long a probe waits for the store, in milliseconds. Kubernetes gives up a probe after a second. */
const probeMs = 500;

/**
 * How long the store may be silent before the server is not ready, in milliseconds. While a command has it locked, such
 * as an import, updates wait up to five seconds, and reads go on. An unready server would get no reads either.
 */
const patienceMs = 6_000;

/** What readiness depends on. */
export interface ReadinessOptions {
  readonly store: Pick<Store, "ready">;
  /** Whether requests can be counted, or may be admitted without. */
  readonly canCount: () => boolean;
  readonly stopping: AbortSignal;
}

/**
 * Tells whether the server is ready. One question to the store is open at a time; a probe that cannot wait for its
 * answer gets the one before.
 */
export function createReadiness({ store, canCount, stopping }: ReadinessOptions): () => Promise<Readiness> {
  let latest: Readiness = "ready";
  let asking: Promise<Readiness> | undefined;

  async function ask(): Promise<Readiness> {
    latest = await store.ready({ signal: AbortSignal.timeout(patienceMs) }).then(
      () => "ready",
      () => storeSilence,
    );
    asking = undefined;
    return latest;
  }

  return async () => {
    if (stopping.aborted) {
      return "stopping";
    }
    if (!canCount()) {
      return limitsSilence;
    }
    asking ??= ask();
    return Promise.race([asking, setTimeout(probeMs, undefined, { ref: false }).then(() => latest)]);
  };
}
