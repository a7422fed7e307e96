import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect } from "vitest";
import { amount } from "../support/long.ts";
import type { TestServer } from "../support/server.ts";

/** What a well-behaved client has seen, in milliseconds. */
export interface Seen {
  readonly calls: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly failures: readonly string[];
}

/** Each lists the inventory, on a connection of its own. */
const names = ["REST, HTTP/1.1", "REST, HTTP/2", "gRPC"];

/** Well-behaved clients, which use the service from a thread of their own while a test attacks it. */
export class Bystander {
  readonly #thread: Worker;

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  /** `key` must have quota for some 600 calls a second. */
  static async start({ origin }: TestServer, key: string): Promise<Bystander> {
    const file = new URL("./bystander-thread.ts", import.meta.url);
    const thread = new Worker(file, { workerData: { origin, key, names } });
    await once(thread, "message");
    return new Bystander(thread);
  }

  /** What the clients see while `attack` goes on. */
  async watch(attack: () => Promise<unknown>): Promise<Seen> {
    await this.#take();
    await attack();
    return await this.#take();
  }

  async #take(): Promise<Seen> {
    const said = once(this.#thread, "message");
    this.#thread.postMessage("tell");
    const [{ latencies, failures }] = (await said) as [{ latencies: number[]; failures: string[] }];
    const sorted = latencies.toSorted((a, b) => a - b);
    const at = (part: number) => Math.round((sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN) * 10) / 10;
    return { calls: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), failures };
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}

/** The bound of the 99th percentile, in milliseconds: that of the long run holds on a machine that is quiet. */
const p99BoundMs = amount(1_000, 100);

/** Expects that well-behaved clients were served, each time and soon. */
export function expectServed(seen: Seen): void {
  expect(seen.failures).toEqual([]);
  expect(seen.calls).toBeGreaterThanOrEqual(amount(names.length, 20));
  expect(seen.p99Ms, JSON.stringify(seen)).toBeLessThan(p99BoundMs);
}
