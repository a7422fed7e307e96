import { isLong } from "./long.ts";

/** Prints what the long run has measured, one line each; `npm test` prints nothing. */
export function report(title: string, figures: Readonly<Record<string, unknown>>): void {
  if (isLong) {
    process.stdout.write(`${title}: ${JSON.stringify(figures)}\n`);
  }
}
