import type { InventoryItem, StockChange } from "../gen/api.ts";
import type { ConnectionEvents } from "./stock-watch.ts";

/** Why a mirror has listed the stock anew: its cursor had expired, or an import may have changed more than quantities. */
export type RelistReason = "expired" | "imported";

/** One entry of a mirror has changed. */
export interface MirrorChange {
  readonly petId: bigint;
  /** The entry before; undefined for a pet that is new to the mirror. */
  readonly before: Readonly<InventoryItem> | undefined;
  /** The entry now; undefined for a pet that is gone, as after a restored backup. */
  readonly after: Readonly<InventoryItem> | undefined;
  /** The change of the stock; undefined where a new list shows what is different. */
  readonly change: StockChange | undefined;
}

/** Options of a mirror. */
export interface InventoryMirrorOptions extends ConnectionEvents {
  /** Ends the mirror when it aborts. */
  signal?: AbortSignal | undefined;
  /** Called for each entry that has changed, in order, once the mirror shows it. What it throws ends the mirror. */
  onChange?: ((change: MirrorChange) => void) | undefined;
  /** Called when the mirror has listed the stock anew, before `onChange` for each entry that is different. */
  onRelist?: ((reason: RelistReason) => void) | undefined;
}

/**
 * A copy of the stock that follows the service's: each pet's id, quantity and status, by pet id. It shows the stock at
 * its `cursor`. No entry goes back to an older state unless the store does, as to a backup. An entry that it has given
 * out does not change: the next state is another object.
 *
 * It does not know what is held: ask `inventory.getAvailability` for that. While the connection is lost it shows the
 * stock as it was, and `onLost` and `onOpen` tell.
 */
export interface InventoryMirror extends ReadonlyMap<bigint, Readonly<InventoryItem>> {
  /** How far the mirror has come: it shows all changes up to here, and none after it. */
  readonly cursor: string;
  /**
   * Resolves when the mirror is closed, and rejects with what ends it before, such as a revoked key. From then on the
   * map no longer changes. Handle it: a mirror that has failed without anybody noticing is out of date, so Node reports
   * the unhandled rejection, which by default ends the process.
   */
  readonly closed: Promise<void>;
  /** Ends the mirror and its connection. What has been mirrored can still be read. */
  close(): Promise<void>;
}
