import type { Key } from "../domain/key.ts";

/** Prints a key's new secret: as JSON for programs, or with a word of warning for people. */
export function printSecret(key: Key, secret: string, { json }: { readonly json?: true }): void {
  process.stdout.write(
    json
      ? `${JSON.stringify({ id: key.id, key: secret, plan: key.plan })}\n`
      : `${secret}\n\nThis is the ${key.plan} key ${key.id}. Keep it now: it is shown only this once.\n`,
  );
}
