import { maskCredentials } from "../domain/masking.ts";
import { addCounter, addGauge, addHistogram, Buckets, type Metrics } from "./instruments.ts";

/** From a neighbour on the same machine to one that is about to count as away, in seconds. */
const roundTripBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];

/** Limits that are counted for all servers together. */
export interface WatchedSharedLimits {
  /** Where they are counted, without a password. */
  readonly url: string;
  /** What becomes of requests while nobody is there: `local` or `refuse`. */
  readonly fallback: string;
  /** How many decisions this server has made by itself. */
  readonly localDecisions: () => number;
}

/** Tells how Valkey counts, or that it is away. Where limits are counted in memory, it is told nothing. */
export class SharedLimitMetrics {
  readonly #clock: () => number;
  readonly #roundTrips = new Buckets(roundTripBounds);
  #watched: WatchedSharedLimits | undefined;
  #absence: { readonly sinceMs: number; reason: unknown } | undefined;

  constructor(metrics: Metrics, clock: () => number) {
    this.#clock = clock;
    addGauge(metrics, {
      name: "petstore_limits_away",
      help: "1 while Valkey is to count the limits and does not answer: they are counted locally, or requests refused.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#absence === undefined ? 0 : 1 }],
    });
    addCounter(metrics, {
      name: "petstore_limits_local_total",
      help: "Requests that this server has judged by itself while Valkey was away.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#watched?.localDecisions() ?? 0 }],
    });
    addHistogram(metrics, {
      name: "petstore_limits_round_trip_seconds",
      help: "How long Valkey took to answer all that one turn of the event loop had asked.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#roundTrips }],
    });
  }

  watch(watched: WatchedSharedLimits): void {
    this.#watched = watched;
  }

  away(reason: unknown): void {
    this.#absence ??= { sinceMs: this.#clock(), reason };
    this.#absence.reason = reason;
  }

  here(): void {
    this.#absence = undefined;
  }

  readonly roundTrip = (durationMs: number): void => {
    this.#roundTrips.observe(durationMs / 1_000);
  };

  /** For the status, to be written as JSON; undefined where limits are counted in memory. */
  get status() {
    if (this.#watched === undefined) {
      return undefined;
    }
    const { url, fallback, localDecisions } = this.#watched;
    return { url, fallback, away: this.#describeAbsence(), countedLocally: localDecisions() };
  }

  #describeAbsence() {
    if (this.#absence === undefined) {
      return null;
    }
    const { sinceMs, reason } = this.#absence;
    const text = maskCredentials(reason instanceof Error ? reason.message : String(reason));
    return { since: new Date(sinceMs).toISOString(), reason: text };
  }
}
