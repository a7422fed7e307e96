import { setImmediate } from "node:timers/promises";
import { type ChangePage, type HistoryBounds, isNextKept, type StockChange } from "../domain/history.ts";
import { lesserOf } from "../domain/ranges.ts";
import type { HistoryFollowing, WebhookStore } from "../domain/store.ts";
import {
  type DeliveryAttempt,
  hasFailedTooLong,
  maxDeliveredChanges,
  msUntilAttempt,
  newProgress,
  type PauseReason,
  progressAfterFailure,
  type Webhook,
  type WebhookProgress,
} from "../domain/webhook.ts";
import type { Lane } from "../scheduling/lane.ts";
import {
  type AttemptOptions,
  attemptDelivery,
  createDelivery,
  type Delivery,
  type EndedAttempt,
  type WriteChange,
} from "./delivery.ts";

/** A receiver that takes longer to answer is slow, in milliseconds. */
const slowMs = 1_000;

/** The wait after the store has failed, or has refused what a worker saves, in milliseconds. */
export const storeRetryMs = 5_000;

/** After how long a worker that delivers nothing saves how far it has searched, in milliseconds. */
const searchSaveMs = 60_000;

/** It saves after this part of the history's retention if that is sooner. After a kill, only what is saved counts. */
const searchSavePart = 1 / 8;

/** Hears of deliveries. It must not throw. */
export interface WebhookObserver {
  attempted(webhook: Webhook, attempt: DeliveryAttempt): void;
  paused(webhook: Webhook, reason: PauseReason): void;
  /** The store could not be read or written. The worker tries again. */
  storeFailed(webhook: Webhook, reason: unknown): void;
}

/** Waits some milliseconds, or until the signal aborts. Never rejects. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** What deliveries need. */
export interface DeliveryOptions extends AttemptOptions {
  readonly store: WebhookStore;
  readonly history: HistoryFollowing;
  readonly write: WriteChange;
  /** Changes before this time are no longer part of the history, in milliseconds since the Unix epoch. */
  readonly keptSinceMs: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly wait: Wait;
  readonly observer: WebhookObserver;
  /** Lets one worker at a time read the store. */
  readonly reads: Lane;
  /** Bounds how many attempts of all webhooks are under way. */
  readonly attempts: Lane;
  /** The same for receivers whose last attempt took long, so that they delay no others. */
  readonly slowAttempts: Lane;
  /** The same for deliveries that have failed before. */
  readonly retries: Lane;
}

/** Delivers the changes to one webhook: in their order, one delivery after the other, until it is stopped. */
export class WebhookWorker {
  readonly #options: DeliveryOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #webhook: Webhook;
  /** The filter selects no change from the position up to this revision. The next search begins here. */
  #searchedTo: bigint;
  /** The lineage of the history that was searched. */
  #lineage: string | undefined;
  /** When this worker last saved the progress, in milliseconds since the Unix epoch. */
  #savedAtMs = 0;
  #isOutdated = false;
  /** Whether new changes do not wake the worker: the webhook is paused, or waits for a retry. */
  #ignoresChanges = false;
  /** Aborts to end a wait. */
  #interrupt = new AbortController();
  /** Whether the last attempt took long. */
  #isSlow = false;
  /** When the oldest change that waits for its delivery was made; undefined where none waits. */
  #pendingSinceMs: number | undefined;

  constructor(webhook: Webhook, options: DeliveryOptions) {
    this.#webhook = webhook;
    this.#options = options;
    this.#searchedTo = webhook.progress.position;
    this.#running = this.#run();
  }

  get webhook(): Webhook {
    return this.#webhook;
  }

  /** In milliseconds since the Unix epoch; undefined where nothing is to be delivered. */
  get pendingSinceMs(): number | undefined {
    return this.#pendingSinceMs;
  }

  /** Tells that a command may have changed the webhook. */
  reload(): void {
    this.#isOutdated = true;
    this.#interrupt.abort();
  }

  /** Tells that there may be more to deliver. */
  wake(): void {
    if (!this.#ignoresChanges) {
      this.#interrupt.abort();
    }
  }

  /** Gives up the attempt that is under way, which may have reached the receiver. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#interrupt.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      this.#interrupt = new AbortController();
      this.#ignoresChanges = false;
      const { signal } = this.#interrupt;
      const waitMs = await this.#step().catch((reason: unknown) => {
        if (!this.#stopping.signal.aborted) {
          this.#options.observer.storeFailed(this.#webhook, reason);
        }
        return storeRetryMs;
      });
      if (waitMs > 0) {
        await this.#options.wait(waitMs, signal);
      }
    }
  }

  /** Attempts one delivery, if one is due. Resolves to the wait before the next step, in milliseconds. */
  async #step(): Promise<number> {
    if (this.#isOutdated) {
      await this.#inTurn(() => this.#readAgain());
    }
    const { paused, progress } = this.#webhook;
    if (paused !== undefined) {
      return this.#waitForReload();
    }
    const dueInMs = msUntilAttempt(progress, this.#options.clock());
    this.#ignoresChanges = dueInMs > 0;
    if (this.#ignoresChanges && this.#pendingSinceMs !== undefined) {
      return dueInMs;
    }
    const { bounds, page } = await this.#inTurn(() => this.#readNextPage());
    if (this.#isOutdated) {
      return 0;
    }
    if (page === undefined) {
      return await this.#pause("history");
    }
    this.#pendingSinceMs = page.changes[0]?.occurredAtMs;
    if (page.changes.length > 0) {
      return this.#ignoresChanges ? dueInMs : await this.#deliver(page, bounds);
    }
    this.#searchedTo = page.searchedTo ?? bounds.head;
    return page.searchedTo === undefined ? await this.#saveSearch() : 0;
  }

  /** Returns the wait of a paused webhook, which a reload ends. */
  #waitForReload(): number {
    this.#ignoresChanges = true;
    this.#pendingSinceMs = undefined;
    return Infinity;
  }

  /** Reads the store in a separate turn of the event loop, so that many webhooks do not delay calls. */
  #inTurn<T>(read: () => Promise<T>): Promise<T> {
    return this.#options.reads.run(1, async () => {
      await setImmediate();
      return await read();
    });
  }

  /**
   * Reads the webhook again. This happens between two attempts, so that no attempt uses half of an operator's change.
   */
  async #readAgain(): Promise<void> {
    this.#isOutdated = false;
    try {
      const webhook = (await this.#options.store.getWebhook(this.#webhook.id)) ?? this.#webhook;
      // The search has come further than the stored position. It counts unless somebody else has moved the position.
      if (webhook.progress.position !== this.#webhook.progress.position) {
        this.#searchedTo = webhook.progress.position;
      }
      this.#webhook = webhook;
      this.#pendingSinceMs = undefined;
    } catch (reason) {
      this.#isOutdated = true;
      throw reason;
    }
  }

  /**
   * Reads the next changes to deliver. Returns no page where changes that were not searched are no longer kept, also
   * where they were deleted while it has read.
   */
  async #readNextPage(): Promise<{ readonly bounds: HistoryBounds; readonly page?: ChangePage }> {
    const { history, keptSinceMs } = this.#options;
    const bounds = await history.historyBounds(keptSinceMs());
    this.#lineage ??= bounds.lineage;
    if (bounds.lineage !== this.#lineage || this.#searchedTo > bounds.head) {
      // Another program has put the store back: what was searched is not what the store has now.
      this.#lineage = bounds.lineage;
      this.#searchedTo = lesserOf(this.#webhook.progress.position, bounds.head);
      this.#isOutdated = true;
    }
    if (!isNextKept(this.#searchedTo, bounds)) {
      return { bounds };
    }
    const page = await this.#readChanges();
    const present = await history.historyBounds(0);
    if (present.lineage !== bounds.lineage) {
      // The changes may be of another history. They are read again.
      this.#isOutdated = true;
    }
    return isNextKept(this.#searchedTo, present) ? { bounds, page } : { bounds };
  }

  /** Reads the changes of the delivery that was begun, or else the next changes. */
  async #readChanges(): Promise<ChangePage> {
    const { deliveringUpTo, position } = this.#webhook.progress;
    if (deliveringUpTo === undefined) {
      return this.#search(this.#searchedTo);
    }
    // Where a search ends early depends on the pets' later changes, too. Only a whole range has the same changes again.
    const changes: StockChange[] = [];
    let after: bigint | undefined = position;
    while (after !== undefined) {
      const page = await this.#search(after, deliveringUpTo + 1n);
      changes.push(...page.changes);
      after = page.searchedTo;
      await setImmediate();
    }
    return { changes, searchedTo: undefined };
  }

  #search(after: bigint, before?: bigint): Promise<ChangePage> {
    const { filter } = this.#webhook;
    return this.#options.history.listChanges({
      ...filter,
      after,
      before,
      newestFirst: false,
      limit: maxDeliveredChanges,
    });
  }

  /**
   * Resolves to the wait before the next step: 0, as there may be more to deliver; or more where a command or another
   * server has changed the webhook first.
   */
  async #deliver({ changes }: ChangePage, { lineage }: HistoryBounds): Promise<number> {
    const { write, observer, clock } = this.#options;
    const upTo = changes.at(-1)?.revision as bigint;
    const begun = { ...newProgress(this.#searchedTo), deliveringUpTo: upTo };
    if (this.#webhook.progress.deliveringUpTo === undefined && !(await this.#save(begun))) {
      return storeRetryMs;
    }
    const webhook = this.#webhook;
    const ended = await this.#attempt(createDelivery(webhook, changes, lineage, write));
    if (ended === undefined) {
      return 0;
    }
    const { attempt, retryAfterMs } = ended;
    const nowMs = clock();
    this.#isSlow = nowMs - attempt.atMs > slowMs;
    const failed = { nowMs, random: this.#options.random(), retryAfterMs };
    const hasFailed = attempt.fault !== undefined;
    const isSaved = await this.#save(
      hasFailed ? progressAfterFailure(webhook.progress, failed) : newProgress(upTo),
      attempt,
    );
    observer.attempted(webhook, attempt);
    if (!isSaved) {
      return storeRetryMs;
    }
    if (!hasFailed) {
      this.#searchedTo = upTo;
    } else if (hasFailedTooLong(this.#webhook.progress, clock())) {
      return await this.#pause("failures");
    }
    return 0;
  }

  /**
   * Attempts a delivery when its turn has come. Resolves to undefined where a command has changed the webhook
   * meanwhile.
   */
  #attempt(delivery: Delivery): Promise<EndedAttempt | undefined> {
    const { attempts, slowAttempts, retries } = this.#options;
    const hasFailed = this.#webhook.progress.failures > 0;
    const lane = hasFailed ? retries : this.#isSlow ? slowAttempts : attempts;
    return lane.run(1, async () =>
      this.#isOutdated
        ? undefined
        : await attemptDelivery(this.#webhook, delivery, this.#stopping.signal, this.#options),
    );
  }

  /**
   * Saves how far the worker has searched, now and then. Otherwise a webhook whose filter selects little would seem far
   * behind: after a restart, the changes after its position might no longer be kept, although its filter selects none
   * of them. Resolves to the wait before the next step, in milliseconds. A wait that is longer than the interval means
   * that the clock was set back; the save is due then.
   */
  async #saveSearch(): Promise<number> {
    if (this.#searchedTo === this.#webhook.progress.position) {
      return Infinity;
    }
    const { clock, keptSinceMs } = this.#options;
    const nowMs = clock();
    const intervalMs = Math.min(searchSaveMs, searchSavePart * (nowMs - keptSinceMs()));
    const dueInMs = this.#savedAtMs + intervalMs - nowMs;
    if (dueInMs > 0 && dueInMs <= intervalMs) {
      return dueInMs;
    }
    return (await this.#save(newProgress(this.#searchedTo))) ? Infinity : storeRetryMs;
  }

  /**
   * Saves new progress. Resolves to false where the stored progress is not the one that this worker knows. Then the
   * worker reads the webhook again.
   */
  async #save(to: WebhookProgress, attempt?: DeliveryAttempt): Promise<boolean> {
    const { id, progress: from } = this.#webhook;
    const isSaved = await this.#options.store.saveProgress(id, { from, to, attempt });
    if (isSaved) {
      this.#webhook = { ...this.#webhook, progress: to };
      this.#savedAtMs = this.#options.clock();
    } else {
      this.#isOutdated = true;
    }
    return isSaved;
  }

  /**
   * Pauses the webhook, unless a command or another server has changed it first. Resolves to the wait before the next
   * step, in milliseconds.
   */
  async #pause(reason: PauseReason): Promise<number> {
    const { store, clock, observer } = this.#options;
    const { id, progress } = this.#webhook;
    const webhook = await store.pauseWebhook(id, reason, clock(), progress);
    if (webhook?.paused?.reason !== reason) {
      this.#isOutdated = true;
      return storeRetryMs;
    }
    this.#webhook = webhook;
    observer.paused(webhook, reason);
    return this.#waitForReload();
  }
}
