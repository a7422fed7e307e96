import { expect } from "vitest";
import type { PetstoreClient } from "../../client/src/index.ts";
import { until } from "./deadline.ts";

const clients = 8;

/** Clients that update a pet each, and are told what they have written. */
export class UpdateLoad {
  readonly errors: unknown[] = [];
  /** Of each client, how many calls have succeeded. */
  readonly #calls: number[] = Array(clients).fill(0);
  #isOn = true;
  readonly #clients: Promise<unknown>;

  constructor(connect: () => PetstoreClient) {
    this.#clients = Promise.all(this.#calls.map((_, client) => this.#run(connect(), client)));
  }

  /** How many calls have succeeded. */
  get calls(): number {
    return this.#calls.reduce((sum, calls) => sum + calls);
  }

  /** Resolves when each client has made some more calls. */
  async allAtWork(): Promise<void> {
    const enough = this.#calls.map((calls) => calls + 20);
    await until(async () => this.#calls.every((calls, client) => calls >= (enough[client] ?? 0)), 20_000);
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#clients;
  }

  async #run({ inventory }: PetstoreClient, client: number): Promise<void> {
    let quantity = 0n;
    while (this.#isOn) {
      quantity += 1n;
      try {
        const { item } = await inventory.updateInventory({ petId: BigInt(client), update: { quantity } });
        expect(item?.quantity).toBe(quantity);
        this.#calls[client] = (this.#calls[client] ?? 0) + 1;
      } catch (error) {
        this.errors.push(error);
      }
    }
  }
}
