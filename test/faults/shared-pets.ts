import { performance } from "node:perf_hooks";
import { expect } from "vitest";
import type { Outcome } from "../support/clients/client.ts";
import type { Protocol } from "../support/clients/protocols.ts";
import { pets } from "../support/fixture.ts";
import type { Input, Operation } from "../support/operations.ts";
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
  /** The codes with which calls were refused. A connection that broke has none. */
  readonly refusals = new Set<string>();
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
    const message = await this.#call(server, protocol, "listInventory", {});
    if (message === undefined) {
      return false;
    }
    const endMs = this.#end();
    for (const { petId, quantity } of message.items) {
      this.#histories.get(petId)?.push({ kind: "read", value: quantity, startMs, endMs });
    }
    return true;
  }

  async #update(server: TestServer, protocol: Protocol, turn: number): Promise<boolean> {
    const petId = shared[turn % shared.length]?.id as bigint;
    this.#lastValue += 1n;
    const value = this.#lastValue;
    const startMs = this.#begin();
    const message = await this.#call(server, protocol, "updateInventory", { petId, update: { quantity: value } });
    const isDone = message !== undefined;
    this.#histories.get(petId)?.push({ kind: "write", value, startMs, endMs: isDone ? this.#end() : Infinity });
    this.updates += isDone ? 1 : 0;
    return isDone;
  }

  /** Returns the answer, where there is one. */
  async #call<O extends Operation>(server: TestServer, protocol: Protocol, operation: O, input: Input<O>) {
    const call: Promise<Outcome<O> | undefined> = server.call(protocol, operation, input, { key: this.#key });
    const outcome = await call.catch(() => undefined);
    if (outcome?.failure?.code !== undefined) {
      this.refusals.add(outcome.failure.code);
    }
    return outcome?.message;
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
