import { setTimeout } from "node:timers/promises";
import { type Command, Option } from "commander";
import { isNextKept, issueCursor, type StockChange } from "../../domain/history.ts";
import type { Store } from "../../domain/store.ts";
import { rawJson } from "../../exact-json/number.ts";
import { argument, parsePetIds, parseWholeNumber } from "../arguments.ts";
import { Failure } from "../failure.ts";
import { formatTime } from "../print/format.ts";
import { formatRow, printable, printableJsonLine, terminalWidth, truncate, widest } from "../print/terminal.ts";
import { withExistingStore } from "../store.ts";

/** The number of changes shown by default. */
const defaultLast = 20;

/** The most changes in one read. */
const readAtOnce = 1_000;

/** The time between two reads of a store that is followed, in milliseconds. */
const followMs = 250;

/** `petstore history`: the changes of stock, for people or as JSON Lines. */
export function addHistory(program: Command): void {
  program
    .command("history")
    .summary("show the changes of stock: when, what, who and why")
    .description("Shows the last changes of stock, the newest last.")
    .option("--pet <id>", "only changes of this pet; repeatable", parsePetIds)
    .addOption(
      new Option("--last <number>", "how many changes to show")
        .argParser(argument(parseWholeNumber, "a whole number, such as 100"))
        .default(defaultLast),
    )
    .option("--follow", "go on with the changes that come, until Ctrl-C")
    .option("--json", "print JSON Lines, with the fields of the API")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const options = command.optsWithGlobals<HistoryOptions>();
      await withExistingStore(options.db, (store) => showHistory(store, options));
    });
}

interface HistoryOptions {
  readonly db: string;
  readonly pet?: readonly bigint[];
  readonly last: number;
  readonly follow?: true;
  readonly json?: true;
}

async function showHistory(store: Store, { pet: petIds = [], last, follow, json }: HistoryOptions): Promise<void> {
  const { lineage, head } = await store.historyBounds(0);
  const print = json
    ? (changes: readonly StockChange[]) => changes.map((change) => `${changeToJsonLine(change, lineage)}\n`).join("")
    : tablePrinter(store);
  await write(await print(await lastChanges(store, { petIds, last, head })));
  let known = head;
  for (let after = head; follow && !process.stdout.destroyed; await setTimeout(followMs)) {
    const page = await store.listChanges({ after, petIds, newestFirst: false, limit: readAtOnce });
    // Only bounds that are read after the changes tell whether some of these were deleted by then.
    const bounds = await store.historyBounds(0);
    if (bounds.lineage !== lineage || !isNextKept(after, bounds)) {
      throw new Failure(`the changes after revision ${after} are no longer kept; run the command again`);
    }
    await write(await print(page.changes));
    after = page.searchedTo ?? page.changes.at(-1)?.revision ?? known;
    known = bounds.head;
  }
}

function tablePrinter(store: Store): (changes: readonly StockChange[]) => Promise<string> {
  const keyNames = new Map<string, string>();
  const table = new ChangeTable({ keyNames, width: terminalWidth() });
  return async (changes) => {
    // Keys may be created while the command follows, so each is looked up when its first change comes.
    for (const { keyId } of changes) {
      if (keyId !== undefined && !keyNames.has(keyId)) {
        keyNames.set(keyId, (await store.getKey(keyId))?.name ?? "");
      }
    }
    return table.append(changes);
  };
}

/** The last changes up to a revision, the newest last. */
async function lastChanges(
  store: Store,
  { petIds, last, head }: { readonly petIds: readonly bigint[]; readonly last: number; readonly head: bigint },
): Promise<StockChange[]> {
  const found: StockChange[] = [];
  let before: bigint | undefined = head + 1n;
  while (before !== undefined && found.length < last) {
    const limit = Math.min(last - found.length, readAtOnce);
    const page = await store.listChanges({ after: 0n, before, petIds, newestFirst: true, limit });
    found.push(...page.changes);
    before = page.searchedTo;
  }
  return found.reverse();
}

/** Resolves when stdout takes more. */
function write(text: string): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(text, () => resolve());
  });
}

const help = `
WHO is the name of the API key that made the change, the key's id where it has
no name, or a command such as an import. WHY is the reason and the reference
that came with it. BEFORE is '-' for a pet that was new. A wide terminal shows
longer names and reasons.

Examples:
  $ petstore history --pet 7 --last 100
  $ petstore history --follow
  $ petstore history --last 1000000 --json | jq 'select(.after < 0)'`;

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
