import { issueCursor, type StockChange } from "../../domain/history.ts";
import { rawJson } from "../../exact-json/number.ts";
import { formatTime } from "./format.ts";
import { formatRow, printable, printableJsonLine, truncate, widest } from "./terminal.ts";

/** How to write changes for people. */
interface ChangeTableOptions {
  /** The names of keys by their ids; empty for a key without a name. */
  readonly keyNames: ReadonlyMap<string, string>;
  /** The number of columns of the terminal; undefined when the output is not a terminal. */
  readonly width: number | undefined;
}

const header = ["WHEN", "PET", "BEFORE", "AFTER", "KIND", "WHO", "WHY"];
const whoColumn = header.indexOf("WHO");
const whyColumn = header.indexOf("WHY");

/** Names of keys are cut to this many columns where they do not fit. */
const minWhoWidth = 8;

/** A table of changes that grows: what was printed stays, and columns only become wider. */
export class ChangeTable {
  readonly #options: ChangeTableOptions;
  #widths = header.map((title) => title.length);
  #hasHeader = false;

  constructor(options: ChangeTableOptions) {
    this.#options = options;
  }

  /** The rows of more changes, after the header if they are the first. */
  append(changes: readonly StockChange[]): string {
    const rows = changes.map((change) => toCells(change, this.#options.keyNames).map(printable));
    const added = this.#hasHeader ? rows : [header, ...rows];
    this.#hasHeader = true;
    this.#widths = this.#widths.map((width, column) => Math.max(width, widest(added.map((row) => row[column] ?? ""))));
    return added.map((row) => `${formatRow(this.#fit(row), this.#fittingWidths())}\n`).join("");
  }

  /** The reason is cut first, then the name of the key. */
  #fit(row: readonly string[]): readonly string[] {
    const widths = this.#fittingWidths();
    return row.map((cell, column) => truncate(cell, widths[column] ?? 0));
  }

  #fittingWidths(): readonly number[] {
    const { width } = this.#options;
    if (width === undefined) {
      return this.#widths;
    }
    const others = this.#widths.filter((_, column) => column !== whoColumn && column !== whyColumn);
    const left = width - others.reduce((sum, each) => sum + each, 0) - 2 * (header.length - 1);
    const [who = 0, why = 0] = [this.#widths[whoColumn], this.#widths[whyColumn]];
    const whoWidth = Math.min(who, Math.max(minWhoWidth, left - why, Math.floor(left / 2)));
    const whyWidth = Math.min(why, Math.max(header[whyColumn]?.length ?? 0, left - whoWidth));
    return this.#widths.with(whoColumn, whoWidth).with(whyColumn, whyWidth);
  }
}

function toCells(change: StockChange, keyNames: ReadonlyMap<string, string>): string[] {
  const { petId, before, after, kind, keyId, reason, reference, occurredAtMs } = change;
  return [
    formatTime(occurredAtMs),
    String(petId),
    before === undefined ? "-" : String(before),
    String(after),
    kind,
    keyId === undefined ? "a command" : keyNames.get(keyId) || keyId,
    [reason, reference].filter((text) => text !== undefined).join(", ") || "-",
  ];
}

/** A change on a line of JSON, with the fields and the exact numbers of REST. */
export function changeToJsonLine(change: StockChange, lineage: string): string {
  const { revision, petId, before, after, kind, reason, reference, keyId, requestId, occurredAtMs } = change;
  return printableJsonLine({
    cursor: issueCursor(lineage, revision),
    revision: rawJson(String(revision)),
    petId: rawJson(String(petId)),
    before: before === undefined ? undefined : rawJson(String(before)),
    after: rawJson(String(after)),
    kind,
    reason,
    reference,
    keyId,
    requestId,
    occurredAt: new Date(occurredAtMs).toISOString(),
  });
}
