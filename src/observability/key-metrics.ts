import type { Registry } from "prom-client";
import { type Plan, plans } from "../domain/plan.ts";
import type { KeyStore } from "../domain/store.ts";
import { addGauge } from "./instruments.ts";

/** Counts the keys, anew only when another process has written: no other does anything to them. */
export class KeyMetrics {
  readonly #store: Pick<KeyStore, "listKeys">;
  #counted: Promise<Readonly<Record<Plan, number>>> | undefined;
  readonly #clock: () => number;

  constructor(registry: Registry, store: Pick<KeyStore, "listKeys">, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
    addGauge(registry, {
      name: "petstore_keys",
      help: "Keys that are neither revoked nor expired, by plan.",
      labelNames: ["plan"],
      read: async () => Object.entries(await this.byPlan()).map(([plan, value]) => ({ labels: { plan }, value })),
    });
  }

  /** To be called when keys may have changed. */
  forget(): void {
    this.#counted = undefined;
  }

  /** Rejects when the store does. */
  byPlan(): Promise<Readonly<Record<Plan, number>>> {
    this.#counted ??= this.#count();
    return this.#counted;
  }

  async #count(): Promise<Readonly<Record<Plan, number>>> {
    const counts = Object.fromEntries(plans.map((plan) => [plan, 0])) as Record<Plan, number>;
    for (const { plan, revokedAtMs, expiresAtMs = Number.POSITIVE_INFINITY } of await this.#store.listKeys()) {
      counts[plan] += revokedAtMs === undefined && this.#clock() < expiresAtMs ? 1 : 0;
    }
    return counts;
  }
}
