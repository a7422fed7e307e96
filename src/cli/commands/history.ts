import { setTimeout } from "node:timers/promises";
import { type Command, Option } from "commander";
import { isNextKept, type StockChange } from "../../domain/history.ts";
import type { Store } from "../../domain/store.ts";
import { argument, parsePetIds, parseWholeNumber } from "../arguments.ts";
import { Failure } from "../failure.ts";
import { ChangeTable, changeToJsonLine } from "../print/history.ts";
import { terminalWidth } from "../print/terminal.ts";
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
longer names and reasons. Use jq 1.7 or newer: older ones round numbers beyond
2^53, also in ids.

Examples:
  $ petstore history --pet 7 --last 100
  $ petstore history --follow
  $ petstore history --last 1000000 --json | jq 'select(.after < 0)'`;
