import type { Registry } from "prom-client";
import { DomainError } from "../domain/errors.ts";
import { addGauge, type Instrument } from "./instruments.ts";

/**
 * Adds a gauge that the store is asked for. While the store cannot be reached it has no series: all other metrics are
 * needed most then.
 */
export function addStoreGauge<Name extends string>(registry: Registry, instrument: Instrument<Name>): void {
  const read = async () => {
    try {
      return await instrument.read();
    } catch (error) {
      if (error instanceof DomainError && error.code === "UNAVAILABLE") {
        return [];
      }
      throw error;
    }
  };
  addGauge(registry, { ...instrument, read });
}
