import { describe } from "vitest";
import type { OpenStore } from "./opened-store.ts";
import { describeChanges } from "./suite-changes.ts";
import { describeExports } from "./suite-exports.ts";
import { describeHistory } from "./suite-history.ts";
import { describeHolds } from "./suite-holds.ts";
import { describeIdempotency } from "./suite-idempotency.ts";
import { describeImports } from "./suite-imports.ts";
import { describeKeys } from "./suite-keys.ts";
import { describeLists } from "./suite-lists.ts";
import { describeMaintenance } from "./suite-maintenance.ts";
import { describeModel } from "./suite-model.ts";
import { describeReadiness } from "./suite-readiness.ts";
import { describeStock } from "./suite-stock.ts";
import { describeStockModel } from "./suite-stock-model.ts";
import { describeUsage } from "./suite-usage.ts";
import { describeWebhooks } from "./suite-webhooks.ts";

/** What a backend may lack: `maintenance`, where its own tools back it up, check and restore it. */
export type Lacking = readonly "maintenance"[];

/** All that a backend must do: it passes the whole suite, but for what it lacks. `open` opens an empty store. */
export function describeStore(name: string, open: OpenStore, lacking: Lacking = []): void {
  describe(name, () => {
    describeLists(open);
    describeImports(open);
    describeHistory(open);
    describeExports(open);
    describeKeys(open);
    describeUsage(open);
    describeChanges(open);
    describeReadiness(open);
    describeStock(open);
    describeHolds(open);
    describeIdempotency(open);
    describeWebhooks(open);
    describeModel(open);
    describeStockModel(open);
    if (!lacking.includes("maintenance")) {
      describeMaintenance(open);
    }
  });
}
