import { describe, expect, it } from "vitest";
import { PetStatus } from "../../../gen/petstore/v1/pet_status_pb.ts";
import { protocols, rest } from "../../support/clients/protocols.ts";
import type { ErrorCode } from "../../support/error-codes.ts";
import { expectFailure } from "../../support/expectations.ts";
import { int64Max, int64Min } from "../../support/fixture.ts";
import type { Input } from "../../support/operations.ts";
import { StockServer } from "./stock-server.ts";

const stock = new StockServer();

type Adjustment = NonNullable<Input<"adjustInventory">["adjustment"]>;

describe.each(protocols)("over $name", (protocol) => {
  const adjust = (petId: bigint, adjustment: Adjustment) =>
    stock.call(protocol, "adjustInventory", { petId, adjustment });

  it.each<[from: bigint, adjustment: Adjustment, to: bigint]>([
    [12n, { delta: 3n }, 15n],
    [12n, { delta: -2n }, 10n],
    [12n, { delta: -12n }, 0n],
    [12n, { delta: -13n, allowNegative: true }, -1n],
    [-5n, { delta: 3n }, -2n],
    [-5n, { delta: -3n, allowNegative: true }, -8n],
    [0n, { delta: int64Max }, int64Max],
    [0n, { delta: int64Min, allowNegative: true }, int64Min],
    [-1n, { delta: int64Min + 1n, allowNegative: true }, int64Min],
    [int64Min, { delta: int64Max }, -1n],
  ])("takes the stock from %s by %o to %s", async (from, adjustment, to) => {
    await stock.set(7n, from);
    const answer = await stock.get(protocol, "adjustInventory", { petId: 7n, adjustment });
    expect(answer.item).toMatchObject({ petId: 7n, quantity: to, status: PetStatus.PENDING });
    expect(await stock.quantityOf(7n)).toBe(to);
  });

  it.each<[from: bigint, adjustment: Adjustment, code: ErrorCode]>([
    [12n, { delta: -13n }, "INSUFFICIENT_STOCK"],
    [0n, { delta: -1n }, "INSUFFICIENT_STOCK"],
    [-5n, { delta: -1n }, "INSUFFICIENT_STOCK"],
    [0n, { delta: int64Min }, "INSUFFICIENT_STOCK"],
    [-1n, { delta: int64Min }, "INSUFFICIENT_STOCK"],
    [1n, { delta: int64Max }, "QUANTITY_OUT_OF_RANGE"],
    [-1n, { delta: int64Min, allowNegative: true }, "QUANTITY_OUT_OF_RANGE"],
    [12n, { delta: 0n }, "INVALID_REQUEST"],
    [12n, {}, "INVALID_REQUEST"],
    [12n, { allowNegative: true }, "INVALID_REQUEST"],
    [12n, { delta: -1n, reason: "x".repeat(65) }, "INVALID_REQUEST"],
    [12n, { delta: -1n, reference: "x".repeat(256) }, "INVALID_REQUEST"],
    [12n, { delta: -1n, reason: "a\nb" }, "INVALID_REQUEST"],
    [12n, { delta: -1n, reference: "a\u0085b" }, "INVALID_REQUEST"],
  ])("refuses to change %s by %o, and changes nothing: %s", async (from, adjustment, code) => {
    await stock.set(7n, from);
    await stock.expectNothingChanged(async () => expectFailure(await adjust(7n, adjustment), code));
  });

  it("says how many are available", async () => {
    await stock.set(4n, 12n);
    const { hold } = await stock.get(protocol, "createHold", { petId: 4n, quantity: 4n });
    expect((await adjust(4n, { delta: -9n })).failure?.message).toMatch(/^The available stock of pet 4 is 8\. /);
    await stock.get(protocol, "adjustInventory", { petId: 4n, adjustment: { delta: -8n } });
    expect((await adjust(4n, { delta: -1n })).failure?.message).toMatch(/^The available stock of pet 4 is 0\. /);
    await stock.set(4n, 1n);
    expect((await adjust(4n, { delta: -1n })).failure?.message).toMatch(/^The available stock of pet 4 is -3\. /);
    await stock.get(protocol, "releaseHold", { holdId: hold?.holdId as string });
  });

  it("refuses a call without an adjustment, and one of a pet that has no entry", async () => {
    expectFailure(await stock.call(protocol, "adjustInventory", { petId: 7n }), "INVALID_REQUEST");
    expectFailure(await adjust(404n, { delta: 1n }), "PET_NOT_FOUND");
    expectFailure(await adjust(404n, { delta: 0n }), "INVALID_REQUEST");
  });
});

it("64 clients that take one of 40 get 40, over all protocols", async () => {
  await stock.set(3n, 40n);
  const outcomes = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      stock.call(protocols[index % protocols.length] ?? rest, "adjustInventory", {
        petId: 3n,
        adjustment: { delta: -1n },
      }),
    ),
  );
  expect(outcomes.filter(({ message }) => message !== undefined)).toHaveLength(40);
  for (const outcome of outcomes.filter(({ failure }) => failure !== undefined)) {
    expectFailure(outcome, "INSUFFICIENT_STOCK");
  }
  expect(await stock.quantityOf(3n)).toBe(0n);
});
