import { reasonOf } from "../errors.ts";
import { InventoryService } from "../gen/petstore/v1/inventory_service_pb.ts";
import { isRefused, isRetriable, nextDelayMs } from "../retry-decision.ts";
import type { RetryPolicy } from "../retry-policy.ts";
import type { Timing } from "../timing.ts";

/** The attempt from which on the back-off no longer doubles: with the default policy 6.4 s at most. */
const slowestAttempt = 6;

/** The call that is tried again. It only reads, so it may be tried any number of times. */
const call = { method: InventoryService.method.watchStockChanges, header: new Headers() };

/** How a connection that should last is tried again. */
export interface RecoveryOptions {
  readonly policy: RetryPolicy;
  readonly timing: Timing;
  /** Called before each wait. */
  readonly onLost?: ((error: unknown) => void) | undefined;
}

/** A failed attempt to connect, or the loss of a connection. */
export interface Loss {
  readonly error: unknown;
  /** Whether the service had answered, and the answer broke off. */
  readonly wasConnected: boolean;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/**
 * Decides how long to wait before a lost connection is tried again. It never gives up during an outage. It gives up
 * when the limits ask for a longer wait than the policy allows.
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  #hasConnected = false;
  #attempt = 0;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Notes that the connection works. */
  succeed(): void {
    this.#hasConnected = true;
    this.#attempt = 0;
  }

  /** Resolves when it is time to try again. Throws the error when it is final, and the signal's reason when it aborts. */
  async waitAfter({ error, wasConnected, signal }: Loss): Promise<void> {
    signal.throwIfAborted();
    this.#hasConnected ||= wasConnected;
    const delayMs = wasConnected || this.#isTemporary(error) ? this.#delayAfter(error) : undefined;
    if (delayMs === undefined) {
      throw error;
    }
    this.#options.onLost?.(error);
    await this.#options.timing.sleep(delayMs, signal);
  }

  /**
   * Whether a failure is temporary. A watch that has had a stream may be refused a new one until the service has
   * noticed that the old one is lost.
   */
  #isTemporary(error: unknown): boolean {
    return isRetriable(error, call) || (this.#hasConnected && reasonOf(error) === "TOO_MANY_STREAMS");
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
