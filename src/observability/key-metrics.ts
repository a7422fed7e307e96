import type { Registry } from "prom-client";
import type { KeyCounts } from "../domain/store.ts";
import { addStoreGauge } from "./store-gauge.ts";

/** Counts the keys that can be used. Rejects when the store does. */
export type CountKeys = () => Promise<KeyCounts>;

/** Tells how many keys there are, by plan, each time that somebody wants to know. */
export function addKeyMetrics(registry: Registry, count: CountKeys): void {
  addStoreGauge(registry, {
    name: "petstore_keys",
    help: "Keys that are neither revoked nor expired, by plan.",
    labelNames: ["plan"],
    read: async () => Object.entries(await count()).map(([plan, value]) => ({ labels: { plan }, value })),
  });
}
