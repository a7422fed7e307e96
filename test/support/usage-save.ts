import { randomUUID } from "node:crypto";
import { noUsage, type Usage } from "../../src/domain/limits.ts";
import type { CountedUsage, KeyUsage, UsageSave } from "../../src/domain/store.ts";

/** The first save of a new server, which knew of no stored usage unless a `base` is given. */
export function firstSave(...usages: (KeyUsage & { readonly base?: Usage })[]): UsageSave {
  return {
    server: randomUUID(),
    number: 1,
    usages: usages.map((usage): CountedUsage => ({ base: noUsage, ...usage })),
  };
}
