import { expect } from "vitest";
import { JsonNumber } from "../../../src/exact-json/number.ts";
import { parseJson } from "../../../src/exact-json/parse.ts";

/** What is in stock, by the ids of pets. */
export type Stock = ReadonlyMap<string, { readonly quantity: string; readonly status: string }>;

/** Reads the list of the inventory as REST has it. */
export function readStock(text: string): Stock {
  const items = parseJson(Buffer.from(text)) as readonly Record<string, unknown>[];
  return new Map(
    items.map(({ petId, quantity, status }) => [
      integer(petId),
      { quantity: integer(quantity), status: String(status) },
    ]),
  );
}

/** Expects that nothing but quantities has changed. */
export function expectSamePets(now: Stock, before: Stock): void {
  const pets = (stock: Stock) => [...stock].map(([petId, { status }]) => [petId, status]);
  expect(pets(now)).toEqual(pets(before));
}

function integer(json: unknown): string {
  return json instanceof JsonNumber ? json.source : String(json);
}
