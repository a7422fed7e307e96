import { expect } from "vitest";
import { restProtocols } from "./clients/protocols.ts";
import { expectSuccess } from "./expectations.ts";
import { pets } from "./fixture.ts";
import type { TestServer } from "./server.ts";

/** Expects that the server answers a well-formed request, and that the stock is as the fixture has it. */
export async function expectUnharmed(server: TestServer, key: string): Promise<void> {
  for (const protocol of restProtocols) {
    const { items } = expectSuccess(await server.call(protocol, "listInventory", {}, { key }));
    expect(items.map(({ petId, quantity }) => [petId, quantity])).toEqual(
      pets.map(({ id, quantity }) => [id, quantity]),
    );
  }
}
