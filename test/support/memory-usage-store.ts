import { noUsage, type Usage } from "../../src/domain/limits.ts";
import type { KeyUsage, UsageSave, UsageStore } from "../../src/domain/store.ts";
import { isSameUsage, mergeUsage } from "../../src/domain/usage-merge.ts";

/** Keeps counters in memory. It can be made to fail. */
export class MemoryUsageStore implements UsageStore {
  readonly saved = new Map<string, Usage>();
  readonly deprecatedCalls = new Map<string, ReadonlyMap<string, number>>();
  readonly #saves = new Map<string, number>();
  /** Whether saves fail, before they have taken effect or after. */
  failing: "before" | "after" | undefined;

  async loadUsage(keyId: string): Promise<Usage | undefined> {
    return this.saved.get(keyId);
  }

  async getUsage(): Promise<KeyUsage | undefined> {
    return undefined;
  }

  async listUsage(): Promise<KeyUsage[]> {
    return [];
  }

  async saveUsage({ server, number, usages }: UsageSave): Promise<ReadonlyMap<string, Usage>> {
    if (this.failing === "before") {
      throw new Error("the disk is full");
    }
    const isNew = number > (this.#saves.get(server) ?? 0);
    this.#saves.set(server, number);
    for (const { keyId, base, usage, lastUsedAtMs, deprecatedCalls = new Map() } of isNew ? usages : []) {
      const stored = this.saved.get(keyId) ?? noUsage;
      this.deprecatedCalls.set(keyId, deprecatedCalls);
      this.saved.set(keyId, mergeUsage(stored, { base, usage, atMs: lastUsedAtMs }));
    }
    if (this.failing === "after") {
      throw new Error("the connection was lost");
    }
    const entries = usages.map(({ keyId, usage }) => [keyId, this.saved.get(keyId) ?? noUsage, usage] as const);
    return new Map(entries.filter(([, stored, own]) => !isSameUsage(stored, own)).map(([id, stored]) => [id, stored]));
  }
}
