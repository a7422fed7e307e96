import type { Usage } from "../../src/domain/limits.ts";
import type { KeyUsage, UsageStore } from "../../src/domain/store.ts";

/** A store of counters in memory, that can be made to fail. */
export class MemoryUsageStore implements UsageStore {
  readonly saved = new Map<string, Usage>();
  readonly deprecatedCalls = new Map<string, ReadonlyMap<string, number>>();
  isFailing = false;

  async loadUsage(keyId: string): Promise<Usage | undefined> {
    return this.saved.get(keyId);
  }

  async getUsage(): Promise<KeyUsage | undefined> {
    return undefined;
  }

  async listUsage(): Promise<KeyUsage[]> {
    return [];
  }

  async saveUsage(usages: Iterable<KeyUsage>): Promise<void> {
    if (this.isFailing) {
      throw new Error("the disk is full");
    }
    for (const { keyId, usage, deprecatedCalls = new Map() } of usages) {
      this.deprecatedCalls.set(keyId, deprecatedCalls);
      this.saved.set(keyId, usage);
    }
  }
}
