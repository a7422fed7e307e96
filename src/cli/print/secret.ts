import type { Key } from "../../domain/key.ts";
import { printable, printableJsonLine } from "./printable.ts";

/** Prints a key's new secret: as JSON for programs, or with a word of warning for people. */
export function printSecret(key: Key, secret: string, { json }: { readonly json?: true }): void {
  process.stdout.write(
    json
      ? `${printableJsonLine({ id: key.id, key: secret, plan: key.plan })}\n`
      : `${secret}\n\nThis is the ${key.plan} key ${printable(key.id)}. Keep it now: it is shown only this once.\n`,
  );
}
