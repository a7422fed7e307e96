import type { Registry } from "prom-client";
import type { ListCacheState } from "../services/inventory-list-cache.ts";
import { addCounter, addGauge } from "./instruments.ts";

/** Shows how the list that is kept ready does. */
export function addListMetrics(registry: Registry, state: () => ListCacheState): void {
  addCounter(registry, {
    name: "petstore_list_cache_pieces_total",
    help: "Pieces of the inventory's list that were asked for, by whether they stood ready.",
    labelNames: ["result"],
    read: () => [
      { labels: { result: "hit" }, value: state().hits },
      { labels: { result: "miss" }, value: state().misses },
    ],
  });
  addCounter(registry, {
    name: "petstore_list_cache_blocks_made_total",
    help: "Blocks of the inventory's list that were read from the store and written as JSON.",
    labelNames: [],
    read: () => [{ labels: {}, value: state().pagesMade }],
  });
  addGauge(registry, {
    name: "petstore_list_cache_bytes",
    help: "The size of what is kept ready of the inventory's list.",
    labelNames: [],
    read: () => [{ labels: {}, value: state().bytes }],
  });
}
