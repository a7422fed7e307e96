import fc from "fast-check";
import { expect, it } from "vitest";
import { orderStatuses, petStatuses, type StockedPet } from "../../src/domain/catalog.ts";
import { orderRecord, petRecord, type RecordFormat } from "../../src/records/record-format.ts";
import { readRecords, type WrittenFormat, writeRecords } from "../../src/records/records.ts";
import { anyCharacter } from "../support/any-character.ts";
import { chunksOf } from "../support/chunks.ts";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

// Characters with a meaning in one of the formats are frequent.
const character = fc.oneof(
  anyCharacter,
  fc.constantFrom(",", ";", '"', "\\", "\r", "\n", "\r\n", " ", "{", "}", "[", "]", "\ufeff", "é", "🐕"),
);
const text = fc.string({ unit: character, maxLength: 8 }).filter((value) => !value.includes("\0"));
const textList = fc.array(text, { maxLength: 4 });

const pets = fc.uniqueArray(
  fc.record({
    id: int64,
    name: text,
    category: text,
    photoUrls: textList,
    tags: textList,
    status: fc.constantFrom(...petStatuses),
    quantity: int64,
  }),
  { selector: ({ id }) => id, maxLength: 5 },
);

const orders = fc.uniqueArray(
  fc.record({
    id: int64,
    petId: int64,
    quantity: int64,
    shipDateMs: fc
      .date({ noInvalidDate: true, min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59.999Z") })
      .map(Number),
    status: fc.constantFrom(...orderStatuses),
    complete: fc.boolean(),
  }),
  { selector: ({ id }) => id, maxLength: 5 },
);

async function check<T extends { readonly id: bigint }>(
  records: fc.Arbitrary<T[]>,
  recordFormat: RecordFormat<T>,
  format: WrittenFormat,
): Promise<void> {
  const chunkLength = fc.integer({ min: 1, max: 64 });
  await fc.assert(
    fc.asyncProperty(records, chunkLength, async (expected, length) => {
      const written = (await Array.fromAsync(writeRecords(toAsync(expected), format, recordFormat))).join("");
      const read = await Array.fromAsync(readRecords(chunksOf(Buffer.from(written), length), format, recordFormat));
      expect(read).toEqual(expected);
    }),
    { numRuns: 300 },
  );
}

async function* toAsync<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* values;
}

it("reads back any pets from the CSV that it wrote", () => check(pets, petRecord, "csv"));
it("reads back any pets from the JSON Lines that it wrote", () => check(pets, petRecord, "jsonl"));
it("reads back any orders from the CSV that it wrote", () => check(orders, orderRecord, "csv"));
it("reads back any orders from the JSON Lines that it wrote", () => check(orders, orderRecord, "jsonl"));

it.each<WrittenFormat>(["csv", "jsonl"])("reads back a million tags from the %s that it wrote", async (format) => {
  const tags = Array(1_000_000).fill("t");
  const pet: StockedPet = { id: 7n, name: "", category: "", photoUrls: [], tags, status: "sold", quantity: 1n };
  const written = (await Array.fromAsync(writeRecords(toAsync([pet]), format, petRecord))).join("");
  const [read] = await Array.fromAsync(readRecords(toAsync([Buffer.from(written)]), format, petRecord));
  expect(read?.tags).toHaveLength(tags.length);
});
