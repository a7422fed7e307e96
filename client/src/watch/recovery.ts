import { reasonOf } from "../errors.ts";
import { InventoryService } from "../gen/petstore/v1/inventory_service_pb.ts";
import { isRefused, isRetriable, nextDelayMs } from "../retry-decision.ts";
import type { RetryPolicy } from "../retry-policy.ts";
import type { Timing } from "../timing.ts";

/** The attempt from which on the back-off no longer doubles: with the default policy 6.4 s at most. */
const slowestAttempt = 6;

/** What fails may be tried again for ever: it only reads. */
const call = { method: InventoryService.method.watchStockChanges, header: new Headers() };

/** How something that is to last is tried again. */
export interface RecoveryOptions {
  readonly policy: RetryPolicy;
  readonly timing: Timing;
  /** Called before each wait. */
  readonly onLost?: ((error: unknown) => void) | undefined;
}

/** A failed attempt, or the loss of what an attempt had brought. */
export interface Loss {
  readonly error: unknown;
  /** Whether the service had answered, and the answer broke off. */
  readonly wasThere: boolean;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/**
 * Decides how long to wait before a lost connection is tried again. It never gives up during an outage. It does where the
 * limits ask for a longer wait than the policy allows.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  #hasBeenThere = false;
  #attempt = 0;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Notes that it is there. */
  succeed(): void {
    this.#hasBeenThere = true;
    this.#attempt = 0;
  }

  /** Resolves when it is time to try again. Throws the error when it is final, and the signal's reason when it aborts. */
  async waitAfter({ error, wasThere, signal }: Loss): Promise<void> {
    signal.throwIfAborted();
    this.#hasBeenThere ||= wasThere;
    const delayMs = wasThere || this.#isPassing(error) ? this.#delayAfter(error) : undefined;
    if (delayMs === undefined) {
      throw error;
    }
    this.#options.onLost?.(error);
    await this.#options.timing.sleep(delayMs, signal);
  }

  /** Who has had a place among the streams may be refused one until the service has noticed that the former is lost. */
  #isPassing(error: unknown): boolean {
    return isRetriable(error, call) || (this.#hasBeenThere && reasonOf(error) === "TOO_MANY_STREAMS");
  }

  #delayAfter(error: unknown): number | undefined {
    const { policy, timing } = this.#options;
    this.#attempt += 1;
    const attempt = Math.min(this.#attempt, slowestAttempt);
    const failed = { error, attempt, now: timing.now(), random: timing.random() };
    const delayMs = nextDelayMs({ ...policy, maxAttempts: Number.POSITIVE_INFINITY }, failed);
    return delayMs ?? (isRefused(error) ? undefined : policy.maxDelayMs);
  }
}
