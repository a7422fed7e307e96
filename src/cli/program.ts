import { Command, CommanderError, Option } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { maskCredentials } from "../domain/masking.ts";
import { describeError, Failure, systemFailure } from "./failure.ts";
import { writeWhole } from "./node-faults.ts";
import { printable } from "./print/terminal.ts";
import type { ServerSignals } from "./server-signals.ts";
import {
  applySettingsFile,
  chooseStore,
  describeUnknownVariables,
  dropEmptyVariables,
  sourceOf,
} from "./settings/resolve.ts";
import { createOption, flagOf, variableOf } from "./settings/settings.ts";
import { fileName } from "./settings/value-type.ts";

type AddCommand = (program: Command, signals: ServerSignals) => void;

/** The commands, in the order of the help. Only those that the arguments name are loaded. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  serve: async () => (await import("./commands/serve.ts")).addServe,
  config: async () => (await import("./commands/config.ts")).addConfig,
  status: async () => (await import("./commands/status.ts")).addStatus,
  keys: async () => (await import("./commands/keys.ts")).addKeys,
  webhooks: async () => (await import("./commands/webhooks.ts")).addWebhooks,
  history: async () => (await import("./commands/history.ts")).addHistory,
  import: async () => (await import("./commands/import.ts")).addImport,
  export: async () => (await import("./commands/export.ts")).addExport,
  backup: async () => (await import("./commands/maintenance.ts")).addBackup,
  restore: async () => (await import("./commands/maintenance.ts")).addRestore,
  copy: async () => (await import("./commands/maintenance.ts")).addCopy,
  check: async () => (await import("./commands/maintenance.ts")).addCheck,
};

/** Runs the command that the arguments name, and returns the exit code. Failures are written to stderr. */
export async function run(args: readonly string[], signals: ServerSignals): Promise<number> {
  writeWhole(process.stdout);
  process.stdout.on("error", exitOnWriteError);
  // When stderr fails, the exit code still tells the outcome.
  process.stderr.on("error", () => {});
  dropEmptyVariables(process.env);
  try {
    const program = createProgram(signals);
    for (const addCommand of await loadCommands(args)) {
      addCommand(program, signals);
    }
    await program.parseAsync(helpAsFlag(args), { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? 0 : 2;
    }
    process.stderr.write(`petstore: ${describeError(error)}\n`);
    return error instanceof Failure ? error.exitCode : 1;
  }
}

/**
 * Turns `help keys create` into `keys create --help`, because commander's own `help` takes the name of one command only.
 * For an unknown command that would show the general help, so `help fly` becomes `fly`, which is refused.
 */
function helpAsFlag(args: readonly string[]): string[] {
  const [first, ...names] = args;
  if (first !== "help" || names[0] === undefined) {
    return [...args];
  }
  return Object.hasOwn(commands, names[0]) ? [...names, "--help"] : names;
}

/**
 * Ends the process when stdout fails. EPIPE is no failure: a reader such as `head` closes stdout early, and the commands
 * that write more handle it themselves.
 */
function exitOnWriteError(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") {
    return;
  }
  process.stderr.write(`petstore: ${systemFailure("write to stdout", error).message}\n`);
  process.exit(1);
}

function createProgram(signals: ServerSignals): Command {
  const program = new Command("petstore")
    .description("Stock inventory for a pet store, over REST, Connect and gRPC.")
    .version(manifest.version)
    .addOption(createOption("db"))
    .addOption(createOption("database"))
    .addOption(createConfigOption())
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: (text, write) => write(`petstore: ${oneLine(text)}\n`) })
    .exitOverride()
    .addHelpText("after", examples);
  program.hook("preAction", async (_program, command) => {
    if (command.name() !== "serve") {
      signals.release();
    }
    await applySettingsFile(command);
    chooseStore(program);
    warnAboutUnknownVariables();
    warnAboutShownSecret(command);
  });
  return program;
}

/** Loads the commands that the arguments name; all of them for the general help and for a mistyped name. */
function loadCommands(args: readonly string[]): Promise<readonly AddCommand[]> {
  const all = Object.entries(commands);
  const named = all.filter(([name]) => args.includes(name));
  const isForAll = named.length === 0 && args[0] !== "--version";
  return Promise.all((isForAll ? all : named).map(([, load]) => load()));
}

function warnAboutUnknownVariables(): void {
  const unknown = describeUnknownVariables(process.env);
  if (unknown !== undefined) {
    process.stderr.write(`petstore: warning: ${unknown}\n`);
  }
}

/** Anyone who lists the machine's processes sees their flags. */
function warnAboutShownSecret(command: Command): void {
  const { kind } = sourceOf(command, "secretKey");
  if (kind === "flag") {
    const [flag, variable] = [flagOf("secretKey"), variableOf("secretKey")];
    process.stderr.write(`petstore: warning: other users of this machine see ${flag}; set ${variable} instead\n`);
  }
}

function createConfigOption(): Option {
  return new Option("--config <file>", "a file with settings, in YAML")
    .argParser((text: string) => fileName.parse(text, undefined))
    .env("PETSTORE_CONFIG");
}

function oneLine(text: string): string {
  const line = text
    .replace(/^error: /, "")
    .trim()
    .replaceAll("\n", " ");
  return printable(maskCredentials(line));
}

const examples = `
Examples:
  $ petstore serve --demo
  $ petstore keys create --plan pro --name "Till 3"
  $ petstore import pets.csv
  $ petstore history --follow
  $ petstore export --format jsonl > pets.jsonl

Run 'petstore help <command>' for the flags of a command.`;
