import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operationOf } from "../../src/interceptors/operation.ts";
import { protocols } from "../support/clients/protocols.ts";
import { expectFailure, expectSuccess } from "../support/expectations.ts";
import { type Operation, operations, samples } from "../support/operations.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";

/** Each scope, and the operations that it alone admits. Source: docs/contract.md#operations */
const granted: Readonly<Record<string, readonly Operation[]>> = {
  "inventory:read": [
    "listInventory",
    "getInventory",
    "getAvailability",
    "listStockChanges",
    "getHold",
    "listHolds",
    "getLimits",
  ],
  "inventory:write": [
    "updateInventory",
    "adjustInventory",
    "batchUpdateInventory",
    "createHold",
    "commitHold",
    "releaseHold",
    "getLimits",
  ],
  "pets:read": ["getPet", "getLimits"],
  "orders:read": ["listOrders", "getLimits"],
};

let server: TestServer;
let keys: ReadonlyMap<string, MintedKey>;

beforeAll(async () => {
  server = await startServer();
  const scopes = Object.keys(granted);
  const minted = await Promise.all(scopes.map((scope) => server.store.mintKey("--scope", scope)));
  keys = new Map(scopes.map((scope, index) => [scope, minted[index] as MintedKey]));
});

afterAll(() => server?.stop());

describe.each(protocols)("over $name", (protocol) => {
  const product = Object.keys(granted).flatMap((scope) => samples.map((sample) => ({ ...sample, scope })));

  it.each(product)(
    "a key with $scope alone calls $operation as the table says",
    async ({ scope, operation, input }) => {
      const outcome = await server.call(protocol, operation, input, { key: keys.get(scope)?.key });
      if (granted[scope]?.includes(operation)) {
        expectSuccess(outcome);
      } else {
        expectFailure(outcome, "SCOPE_MISSING");
        expect(outcome.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
      }
    },
  );
});

it("every operation stands in the table, by the scope that its proto names", () => {
  for (const [name, method] of Object.entries(operations)) {
    const letIn = Object.keys(granted).filter((scope) => granted[scope]?.includes(name as Operation));
    const scope = operationOf(method)?.scope ?? "";
    expect(letIn, name).toEqual(scope === "" ? Object.keys(granted) : [scope]);
  }
});
