import { type Command, Help, Option } from "commander";
import { maskCredentials } from "../../domain/masking.ts";
import { usageFailure } from "../failure.ts";
import { interruptibly, withProgress } from "../long-work.ts";
import { printable, terminalWidth, wrapWords } from "../print/terminal.ts";
import { locationOf } from "../settings/resolve.ts";
import { databaseUrl } from "../settings/value-type.ts";
import { type CopiedCounts, copyStore } from "../store.ts";

/** `petstore copy --from URL --to URL`: the whole store, in another place or another kind of database. */
export function addCopy(program: Command): void {
  program
    .command("copy")
    .summary("copy the store to another database")
    .description("Copies the whole store to one that is missing or empty, and compares the two at the end.")
    .addOption(createLocation("from", "the store: sqlite:FILE, or postgres://USER:PASSWORD@HOST/DATABASE"))
    .addOption(createLocation("to", "where the copy goes, in the same forms"))
    .configureHelp({ ...program.configureHelp(), visibleGlobalOptions: listTaken })
    .addHelpText("after", help)
    .action(async ({ from, to }: CopyOptions) => {
      if (refused.some((name) => program.getOptionValueSource(name) === "cli")) {
        throw usageFailure("copy takes its stores from --from and --to: leave out --db and --database");
      }
      await copy(from, to);
    });
}

/** The flags of all commands that this one refuses, because it takes two stores. */
const refused = ["db", "database"];

function listTaken(this: Help, command: Command): Option[] {
  const taken = Help.prototype.visibleGlobalOptions.call(this, command);
  return taken.filter((option) => !refused.includes(option.attributeName()));
}

/** A flag that also has a variable, because others see the flags of a process, and a URL may contain a password. */
function createLocation(name: "from" | "to", description: string): Option {
  return new Option(`--${name} <url>`, description)
    .argParser((text: string) => databaseUrl.parse(text, undefined))
    .env(`PETSTORE_COPY_${name.toUpperCase()}`)
    .makeOptionMandatory();
}

interface CopyOptions {
  readonly from: string;
  readonly to: string;
}

async function copy(from: string, to: string): Promise<void> {
  const counts = await interruptibly((guard) =>
    withProgress("copying", (report) => copyStore(locationOf(from), locationOf(to), guard(report))),
  );
  const line = `copied ${maskCredentials(from)} to ${maskCredentials(to)}: ${describe(counts)}; both are the same`;
  process.stdout.write(`${wrapWords(printable(line), terminalWidth())}\n`);
}

/** The tables whose rows are counted in the output, with the words for one row and for several. */
const kinds: readonly [table: string, one: string, many: string][] = [
  ["pets", "pet", "pets"],
  ["orders", "order", "orders"],
  ["changes", "change", "changes"],
  ["holds", "hold", "holds"],
  ["keys", "key", "keys"],
  ["webhooks", "webhook", "webhooks"],
];

function describe(counts: CopiedCounts): string {
  return kinds.map(([table, one, many]) => `${counts[table]} ${counts[table] === 1 ? one : many}`).join(", ");
}

const help = `
The copy has all of it: pets, stock and its history, orders, holds, keys with
their usage, webhooks with how far each has come, and idempotency keys. So the
cursors, versions and retries of clients stay valid. What Valkey counts stays
where it is. Secrets of webhooks that are encrypted stay encrypted, and need the
same PETSTORE_SECRET_KEY.

End the servers of both stores first. While the copy is made, no server can
begin to use either of them, and commands cannot write to them. Whatever ends it
half-way leaves the target as it was: run it again. Then serve one of the two,
and no longer the other: both would give the same revisions to different
changes, and deliver each change of the stock to the webhooks twice.

Both stores are of this version: a server that is started on an older one
migrates it. To try a copy while the store is served, copy a backup of it.

Examples:
  $ petstore copy --from sqlite:petstore.db --to postgres://petstore@db/petstore
  $ petstore copy --from postgres://petstore@db/petstore --to sqlite:petstore.db`;
