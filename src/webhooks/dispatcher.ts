import type { Webhook } from "../domain/webhook.ts";
import { Lane } from "../scheduling/lane.ts";
import { type DeliveryOptions, storeRetryMs, type Wait, WebhookWorker } from "./worker.ts";

/**
 * How many attempts of each kind are under way at once: first ones, those at slow receivers, and retries. A receiver
 * that does not answer keeps an attempt under way for 10 s.
 */
const attemptsAtOnce = 64;

type LaneName = "reads" | "attempts" | "slowAttempts" | "retries";

/** What the dispatcher needs. */
interface DispatcherOptions extends Omit<DeliveryOptions, LaneName | "wait" | "random"> {
  /** Calls back when others may have changed the stock. */
  readonly onStockChanged: (listener: () => void) => void;
  /** Calls back when others may have changed webhooks, and once at the beginning. */
  readonly onWebhooksChanged: (listener: () => void) => void;
  /**
   * Called when the webhooks cannot be read: they are read again after `storeRetryMs` at the latest. Also called for each
   * webhook whose row is damaged.
   */
  readonly report: (reason: unknown) => void;
  /** For tests; the system's otherwise. */
  readonly wait?: Wait;
  readonly random?: () => number;
}

/** Delivers the changes of the stock to the webhooks that this server has claimed, each by a worker of its own. */
export class WebhookDispatcher {
  readonly #options: DispatcherOptions;
  readonly #delivery: DeliveryOptions;
  /** By id, in the order in which the webhooks were created. */
  readonly #workers = new Map<string, WebhookWorker>();
  /** The ends of workers that were told to stop. */
  readonly #endings = new Set<Promise<void>>();
  readonly #renewal: NodeJS.Timeout | undefined;
  /** Loads the webhooks again when they could not be read. */
  #retry: NodeJS.Timeout | undefined;
  /** Ends all workers when the claims have run out. */
  #expiry: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Loads the webhooks: one load after the other. */
  #loading: Promise<void> = Promise.resolve();
  /** Whether a load waits for the one that is under way. It serves all who ask meanwhile. */
  #willLoad = false;
  /** Whether webhooks may have changed since the last load began. */
  #mayHaveChanged = false;
  readonly #wakeAll = (): void => {
    for (const worker of this.#workers.values()) {
      worker.wake();
    }
  };

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#delivery = {
      wait: systemWait,
      random: Math.random,
      ...options,
      reads: new Lane({ width: 1 }),
      attempts: new Lane({ width: attemptsAtOnce }),
      slowAttempts: new Lane({ width: attemptsAtOnce }),
      retries: new Lane({ width: attemptsAtOnce }),
    };
    options.history.onChanges(this.#wakeAll);
    options.onStockChanged(this.#wakeAll);
    options.onWebhooksChanged(() => {
      this.#mayHaveChanged = true;
      this.#scheduleLoad();
    });
    const { webhookClaimMs } = options.store;
    if (webhookClaimMs !== Infinity) {
      this.#renewal = setInterval(() => this.#scheduleLoad(), webhookClaimMs / 3).unref();
    }
  }

  /** The workers of all webhooks that this server has claimed, paused ones included; that of the oldest webhook first. */
  get workers(): Iterable<WebhookWorker> {
    return this.#workers.values();
  }

  /** Gives up attempts under way. They are made again, with the same changes, after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#renewal);
    clearTimeout(this.#expiry);
    this.#endAll();
    await Promise.all([this.#loading, ...this.#endings]);
    clearTimeout(this.#retry);
    // Claims that stay run out by themselves.
    await this.#options.store.releaseWebhooks().catch(this.#options.report);
  }

  /** Loads the webhooks, after the load that is under way. A load that already waits serves this call, too. */
  #scheduleLoad(): void {
    if (!this.#willLoad) {
      this.#willLoad = true;
      this.#loading = this.#loading.then(() => this.#load()).catch((reason: unknown) => this.#retryLater(reason));
    }
  }

  #retryLater(reason: unknown): void {
    this.#retry = setTimeout(() => this.#scheduleLoad(), storeRetryMs).unref();
    this.#options.report(reason);
  }

  /**
   * Claims the webhooks, and starts workers for new ones. Where webhooks may have changed, the other workers read
   * theirs again.
   */
  async #load(): Promise<void> {
    this.#willLoad = false;
    clearTimeout(this.#retry);
    if (this.#isClosed) {
      return;
    }
    const askedAtMs = performance.now();
    // The claim may miss a change that is made meanwhile. So that change sets the flag for the next load.
    const mayHaveChanged = this.#mayHaveChanged;
    this.#mayHaveChanged = false;
    const { store, report } = this.#options;
    const webhooks = await store.claimWebhooks(report).catch((reason: unknown) => {
      this.#mayHaveChanged ||= mayHaveChanged;
      throw reason;
    });
    if (this.#isClosed) {
      return;
    }
    this.#expireIn(store.webhookClaimMs - (performance.now() - askedAtMs));
    const ids = new Set(webhooks.map(({ id }) => id));
    for (const [id, worker] of this.#workers) {
      if (!ids.has(id)) {
        this.#end(id, worker);
      }
    }
    for (const webhook of webhooks) {
      const worker = this.#startOrReload(webhook, mayHaveChanged);
      // Puts it at the end, so that the map gets the order of the webhooks.
      this.#workers.delete(webhook.id);
      this.#workers.set(webhook.id, worker);
    }
  }

  #expireIn(ms: number): void {
    clearTimeout(this.#expiry);
    if (ms !== Infinity) {
      this.#expiry = setTimeout(() => this.#endAll(), Math.max(0, ms)).unref();
    }
  }

  #endAll(): void {
    for (const [id, worker] of this.#workers) {
      this.#end(id, worker);
    }
  }

  /** Tells a worker to stop, and does not wait for its end. */
  #end(id: string, worker: WebhookWorker): void {
    this.#workers.delete(id);
    const ending = worker.stop().finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }

  #startOrReload(webhook: Webhook, mayHaveChanged: boolean): WebhookWorker {
    const former = this.#workers.get(webhook.id);
    const worker = former ?? new WebhookWorker(webhook, this.#delivery);
    // A new worker has what the claim has read. That is outdated only by what was changed since the claim began.
    if (former === undefined ? this.#mayHaveChanged : mayHaveChanged) {
      worker.reload();
    }
    return worker;
  }
}

const systemWait: Wait = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const timer = ms === Infinity ? undefined : setTimeout(resolve, ms).unref();
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
