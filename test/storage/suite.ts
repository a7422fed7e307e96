import { describe } from "vitest";
import type { OpenStore } from "./opened-store.ts";
import { describeBackups } from "./suite-backups.ts";
import { describeExports } from "./suite-exports.ts";
import { describeImports } from "./suite-imports.ts";
import { describeKeys } from "./suite-keys.ts";
import { describeLists } from "./suite-lists.ts";
import { describeModel } from "./suite-model.ts";
import { describeUsage } from "./suite-usage.ts";

/** All that a backend must do: it passes the whole of this. `open` opens an empty store. */
export function describeStore(name: string, open: OpenStore): void {
  describe(name, () => {
    describeLists(open);
    describeImports(open);
    describeExports(open);
    describeBackups(open);
    describeKeys(open);
    describeUsage(open);
    describeModel(open);
  });
}
