import { systemFailure } from "../failure.ts";
import { printable, printableJsonLine, terminalWidth, wrapWords } from "./terminal.ts";

/** A secret that a command has just stored. */
interface NewSecret {
  readonly secret: string;
  /** What it does, such as `This signs the requests of whk_…`. */
  readonly purpose: string;
  /** The command that replaces it. */
  readonly replacement: string;
  /** What programs get instead of the text. */
  readonly json: object;
}

/**
 * Prints a new secret: as JSON for programs, or with a warning for people. If stdout fails, even because its reader is
 * gone, says how to get another secret, and ends the process with 1.
 */
export function printNewSecret(
  { secret, purpose, replacement, json }: NewSecret,
  options: { readonly json?: true },
): void {
  const advice = `${printable(purpose)}. Keep it now: it is shown only once.`;
  const text = `${secret}\n\n${wrapWords(advice, terminalWidth())}\n`;
  process.stdout.write(options.json ? `${printableJsonLine(json)}\n` : text, (error) => {
    if (error) {
      // The secret is stored already.
      process.stderr.write(`petstore: ${systemFailure("write to stdout", error).message}\n`);
      process.stderr.write(`petstore: the secret is lost. '${printable(replacement)}' makes another.\n`);
      process.exit(1);
    }
  });
}
