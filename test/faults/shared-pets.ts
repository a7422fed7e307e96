import { performance } from "node:perf_hooks";
import { expect } from "vitest";
import type { Protocol } from "../support/clients/protocols.ts";
import { pets } from "../support/fixture.ts";
import type { TestServer } from "../support/server.ts";
import { findContradiction, type RegisterOperation } from "./register-history.ts";

const shared = pets.slice(2, 5);

/** A few pets that many clients update and read at the same time, and all that they have been answered. */
export class SharedPets {
  readonly #key: string;
  readonly #histories = new Map(shared.map(({ id }) => [id, [] as RegisterOperation[]]));
  #lastValue = 1_000n;
  /** When each call was answered with success. */
  readonly answeredAtMs: number[] = [];
  /** How many calls were sent, whatever became of them. */
  sent = 0;
  updates = 0;

  constructor(key: string) {
    this.#key = key;
  }

  /** Reads and updates over one protocol, in turn, until the server is gone. */
  async use(server: TestServer, protocol: Protocol, start: number): Promise<void> {
    for (let turn = start; ; turn += 1) {
      const isOn = turn % 3 === 0 ? await this.read(server, protocol) : await this.#update(server, protocol, turn);
      if (!isOn) {
        return;
      }
    }
  }

  /** Reads all of them, and tells whether there was an answer. */
  async read(server: TestServer, protocol: Protocol): Promise<boolean> {
    const startMs = this.#begin();
    const outcome = await server.call(protocol, "listInventory", {}, { key: this.#key }).catch(() => undefined);
    if (outcome?.message === undefined) {
      return false;
    }
    const endMs = this.#end();
    for (const { petId, quantity } of outcome.message.items) {
      this.#histories.get(petId)?.push({ kind: "read", value: quantity, startMs, endMs });
    }
    return true;
  }

  async #update(server: TestServer, protocol: Protocol, turn: number): Promise<boolean> {
    const petId = shared[turn % shared.length]?.id as bigint;
    this.#lastValue += 1n;
    const value = this.#lastValue;
    const startMs = this.#begin();
    const input = { petId, update: { quantity: value } };
    const outcome = await server.call(protocol, "updateInventory", input, { key: this.#key }).catch(() => undefined);
    const isDone = outcome?.message !== undefined;
    this.#histories.get(petId)?.push({ kind: "write", value, startMs, endMs: isDone ? this.#end() : Infinity });
    this.updates += isDone ? 1 : 0;
    return isDone;
  }

  #begin(): number {
    this.sent += 1;
    return performance.now();
  }

  #end(): number {
    const nowMs = performance.now();
    this.answeredAtMs.push(nowMs);
    return nowMs;
  }

  /** Expects that one order of all that happened explains every answer, for each pet. */
  expectLinearisable(): void {
    for (const { id, quantity } of shared) {
      expect(findContradiction(quantity, this.#histories.get(id) ?? []), `pet ${id}`).toBeUndefined();
    }
  }
}
