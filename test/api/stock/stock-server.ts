import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import type { Outcome } from "../../support/clients/client.ts";
import { type Protocol, rest } from "../../support/clients/protocols.ts";
import { expectSuccess } from "../../support/expectations.ts";
import type { Input, Operation, Output } from "../../support/operations.ts";
import { type MintedKey, startServer, type TestServer } from "../../support/server.ts";

type Headers = Readonly<Record<string, string>>;

/** A server with the fixture, for the tests of a file, and a key with all scopes. */
export class StockServer {
  #server: TestServer | undefined;
  #key: MintedKey | undefined;

  /** Starts the server before the file's tests, and stops it after them. */
  constructor(...flags: readonly string[]) {
    beforeAll(async () => {
      this.#server = await startServer(...flags);
      this.#key = await this.#server.store.mintQuota(1_000_000, 1_000_000);
    });
    afterAll(() => this.#server?.stop());
  }

  get server(): TestServer {
    return this.#server as TestServer;
  }

  get key(): MintedKey {
    return this.#key as MintedKey;
  }

  call<O extends Operation>(
    protocol: Protocol,
    operation: O,
    input: Input<O>,
    headers: Headers = {},
  ): Promise<Outcome<O>> {
    return this.server.call(protocol, operation, input, { key: this.key.key, headers });
  }

  /** The answer to a call that succeeds. */
  async get<O extends Operation>(protocol: Protocol, operation: O, input: Input<O>, headers?: Headers) {
    return expectSuccess(await this.call(protocol, operation, input, headers)) as Output<O>;
  }

  /** Sets the stock of a pet. Returns its tag. */
  async set(petId: bigint, quantity: bigint): Promise<string> {
    return (await this.get(rest, "updateInventory", { petId, update: { quantity } })).etag;
  }

  /** Sets the stock of a pet by a command. */
  async importQuantity(petId: bigint, quantity: bigint): Promise<void> {
    const file = join(this.server.store.directory, "quantity.csv");
    writeFileSync(file, `id,quantity\n${petId},${quantity}\n`);
    await this.server.store.run("import", file);
  }

  async quantityOf(petId: bigint): Promise<bigint | undefined> {
    return (await this.get(rest, "getInventory", { petId })).item?.quantity;
  }

  async newestChange() {
    return (await this.get(rest, "listStockChanges", { newestFirst: true, pageSize: 1 })).changes[0];
  }

  /** Expects that there is no further change, and no hold that is new or other, when `act` is done. */
  async expectNothingChanged(act: () => Promise<void>): Promise<void> {
    const before = await this.#state();
    await act();
    expect(await this.#state()).toEqual(before);
  }

  async #state() {
    const { holds } = await this.get(rest, "listHolds", {});
    return { change: await this.newestChange(), holds };
  }
}
