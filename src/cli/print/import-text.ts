import type { ImportResult, StrayOrders } from "../../domain/import.ts";
import { formatCount } from "../../records/record-format.ts";
import { orderRecord, petRecord } from "../../records/record-kinds.ts";

/** Says what an import has done, such as `50 pets: 3 created, 47 replaced`. */
export function describeImport(result: ImportResult, kind: "pets" | "orders"): string {
  const counts = Object.entries(result[kind]).filter(([, count]) => count > 0);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const parts = counts.map(([what, count]) => `${count} ${what}`).join(", ");
  return `${formatCount(total, kind === "pets" ? petRecord : orderRecord)}${parts === "" ? "" : `: ${parts}`}`;
}

/** Warns on stderr of orders whose pets are missing. It may be meant so: orders outlive their pets. */
export function warnOfStrays({ count, petCount, petIds }: StrayOrders): void {
  if (count === 0) {
    return;
  }
  const names = `${petIds.join(", ")}${petIds.length < petCount ? ", …" : ""}`;
  const verb = count === 1 ? "names a pet that is" : "name pets that are";
  process.stderr.write(`petstore: warning: ${formatCount(count, orderRecord)} ${verb} not in the store: ${names}\n`);
}
