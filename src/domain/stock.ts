import type { InventoryItem } from "./catalog.ts";
import {
  DomainError,
  insufficientStock,
  invalidRequest,
  petNotFound,
  preconditionFailed,
  quantityOutOfRange,
  weakTags,
} from "./errors.ts";
import type { ChangeKind } from "./history.ts";
import { greaterOf, isInt64, minInt64 } from "./ranges.ts";

/** The stock entry of one pet, with its version. */
export interface StockEntry extends InventoryItem {
  /** Opaque. Every write of the stock or the status makes a version that no other write of any store makes. */
  readonly version: string;
}

/** How much of a pet's stock can be taken. Each number may be any int64. */
export interface Availability {
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly held: bigint;
  /** The quantity less what is held: see `availableOf`. Negative where the stock was set below what is held. */
  readonly available: bigint;
}

/** A command that changes the stock of one pet. */
export type StockCommand = SetStock | AdjustStock;

interface AnyStockCommand extends ChangeNote {
  readonly petId: bigint;
  /** The versions that the entry may have: undefined for any, empty if all tags of the request are weak. */
  readonly versions?: readonly string[] | undefined;
}

/** Sets the stock count, whatever is held. */
export interface SetStock extends AnyStockCommand {
  readonly kind: "set";
  readonly quantity: bigint;
}

/** Adds to the stock count. */
export interface AdjustStock extends AnyStockCommand {
  readonly kind: "adjust";
  /** Any int64 but 0. */
  readonly delta: bigint;
  /** Whether more may be taken than is available. */
  readonly allowNegative: boolean;
}

/** What a caller says about a change. */
export interface ChangeNote {
  readonly reason?: string | undefined;
  readonly reference?: string | undefined;
}

/** A new stock count, and what the history tells of it. */
export interface StockWrite extends ChangeNote {
  readonly kind: ChangeKind;
  readonly quantity: bigint;
}

/** The decision on a command: a new stock count, or a refusal that changes nothing. */
type StockDecision = { readonly outcome: "done"; readonly quantity: bigint } | StockRefusal;

/** Why a command is refused. */
export type StockRefusal =
  | { readonly outcome: "unknown_pet" | "version_mismatch" | "weak_tags" | "out_of_range" }
  | { readonly outcome: "insufficient"; readonly available: bigint };

/** The part of a stored entry that callers see. */
export function entryOf({ petId, quantity, status, version }: StockEntry): StockEntry {
  return { petId, quantity, status, version };
}

/** How many of a stock count are not held. The result is never below the smallest int64. */
export function availableOf(quantity: bigint, held: bigint): bigint {
  return greaterOf(quantity - held, minInt64);
}

/** Whether the decision on a command depends on what is held. */
export function dependsOnHolds(command: StockCommand): command is AdjustStock {
  return command.kind === "adjust" && command.delta < 0n && !command.allowNegative;
}

/**
 * Decides on a command. `entry` is undefined where there is no such pet. `held` is how many of the pet are held now. It
 * may be 0 where `dependsOnHolds` is false. Source: docs/contract.md#changing-stock
 */
export function decideStock(command: StockCommand, entry: StockEntry | undefined, held: bigint): StockDecision {
  if (entry === undefined) {
    return { outcome: "unknown_pet" };
  }
  if (command.versions !== undefined && !command.versions.includes(entry.version)) {
    return { outcome: command.versions.length === 0 ? "weak_tags" : "version_mismatch" };
  }
  if (command.kind === "set") {
    return { outcome: "done", quantity: command.quantity };
  }
  const quantity = entry.quantity + command.delta;
  if (dependsOnHolds(command) && quantity - held < 0n) {
    return { outcome: "insufficient", available: availableOf(entry.quantity, held) };
  }
  return isInt64(quantity) ? { outcome: "done", quantity } : { outcome: "out_of_range" };
}

/** The error that callers get for a refusal. */
export function stockRefusalError(petId: bigint, refusal: StockRefusal): DomainError {
  switch (refusal.outcome) {
    case "unknown_pet":
      return petNotFound(petId);
    case "version_mismatch":
      return preconditionFailed(petId);
    case "weak_tags":
      return weakTags();
    case "insufficient":
      return insufficientStock(petId, refusal.available);
    case "out_of_range":
      return quantityOutOfRange(petId);
  }
}

/** The error of an atomic batch whose change at `index` is refused. */
export function batchRefusalError(index: number, petId: bigint, refusal: StockRefusal): DomainError {
  const { code, message } = stockRefusalError(petId, refusal);
  return new DomainError(code, `changes[${index}]: ${message}`);
}

/** The version of an entry whose last change has this revision. */
export function versionOf(lineage: string, revision: bigint | number): string {
  return `${lineage}-${revision}`;
}

/** The revision in a version. */
export function revisionOf(version: string): bigint {
  return BigInt(version.slice(version.indexOf("-") + 1));
}

/** One entity tag, and what follows it: the end, or a comma. */
const element = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\u{10ffff}]*)"[ \t]*)?(?:,|$)/uy;

/** The most characters that an `If-Match` may have, over RPC too. A request's headers have the same limit. */
const maxIfMatchLength = 16_384;

/**
 * The versions that the strong tags of an `If-Match` name; undefined for `*`, which any version matches. Weak tags match
 * no version. Throws `INVALID_REQUEST` for the field `etag`. Source: RFC 9110, 13.1.1
 */
export function parseIfMatch(value: string): readonly string[] | undefined {
  if (value.length > maxIfMatchLength) {
    throw unreadable(`at most ${maxIfMatchLength} characters long`);
  }
  if (/^[ \t]*\*[ \t]*$/.test(value)) {
    return undefined;
  }
  const versions: string[] = [];
  let count = 0;
  element.lastIndex = 0;
  while (element.lastIndex < value.length) {
    const match = element.exec(value);
    if (match === null) {
      throw unreadable();
    }
    const [, weak, version] = match;
    count += version === undefined ? 0 : 1;
    if (version !== undefined && weak === undefined) {
      versions.push(version);
    }
  }
  if (count === 0) {
    throw unreadable();
  }
  return versions;
}

function unreadable(expected = "entity tags in quotes, separated by commas, or *"): DomainError {
  const description = `must be ${expected}`;
  return invalidRequest(`etag: ${description}.`, [{ field: "etag", description }]);
}
