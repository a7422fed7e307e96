import { expect } from "vitest";
import { type Protocol, rest } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { pets } from "../support/fixture.ts";
import type { TestServer } from "../support/server.ts";

/** What may stand in a store, by the answers that its only writer has had, one after the other. */
export class KnownStock {
  readonly #key: string;
  /** Of each pet the stock that was acknowledged last, and what was asked for since then, in vain or not. */
  readonly #possible = new Map(pets.map(({ id, quantity }) => [id, [quantity]]));
  #updates = 0;
  acknowledged = 0;

  constructor(key: string) {
    this.#key = key;
  }

  /** Sets a pet's stock to a number that was never there. Returns the code of the failure; undefined for success. */
  async update(server: TestServer, protocol: Protocol = rest): Promise<string | undefined> {
    this.#updates += 1;
    const quantity = BigInt(1_000 + this.#updates);
    const petId = pets[this.#updates % pets.length]?.id as bigint;
    const input = { petId, update: { quantity } };
    const { failure } = await server.call(protocol, "updateInventory", input, { key: this.#key });
    if (failure === undefined) {
      this.#possible.set(petId, [quantity]);
      this.acknowledged += 1;
    } else {
      this.#possible.get(petId)?.push(quantity);
    }
    return failure?.code;
  }

  /** Expects that a list has every pet, with a stock that it may have. */
  async expectIn(server: TestServer, protocol: Protocol = rest): Promise<void> {
    expect(await this.look(server, protocol)).toBeUndefined();
  }

  /** As `expectIn`, where there is a list. Returns the code of the failure; undefined for success. */
  async look(server: TestServer, protocol: Protocol): Promise<string | undefined> {
    const outcome = await server.call(protocol, "listInventory", {}, { key: this.#key });
    if (outcome.failure !== undefined) {
      return outcome.failure.code;
    }
    const { items } = expectSuccess(outcome);
    expect(items.map(({ petId }) => petId)).toEqual([...this.#possible.keys()]);
    for (const { petId, quantity } of items) {
      expect(this.#possible.get(petId), `pet ${petId}`).toContain(quantity);
    }
    return undefined;
  }
}
