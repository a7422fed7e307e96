import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { rawJson } from "../../../src/exact-json/number.ts";
import { RecordError } from "../../../src/records/record-error.ts";
import { isWhole, orderRecord, petRecord, type RecordFormat } from "../../../src/records/record-format.ts";
import { readRecords, writeRecords, writtenFormats } from "../../../src/records/records.ts";
import { chunksOf } from "../../support/chunks.ts";
import { orders, pets, toCsv } from "../../support/fixture.ts";
import { fuzz } from "./cases.ts";
import { mutated } from "./mutate.ts";
import { leastCpuMs } from "./quick.ts";
import { jsonTokens, numberTokens, prototypeTokens, unicodeTokens } from "./tokens.ts";

const csvTokens = [",", ";", '"', '""', "\r", "\r\n", "\n", "\n\n", "\\", "\\;", "\\\\", "2026-02-29T00:00:00Z", " "];
const tokens = [...csvTokens, ...jsonTokens, ...numberTokens, ...prototypeTokens, ...unicodeTokens];

describe("a file of records", () => {
  check("of pets", { usual: 200, long: 8_000 }, petRecord, pets.slice(0, 8));
  check("of orders", { usual: 200, long: 8_000 }, orderRecord, orders);

  function check<T extends { readonly id: bigint }>(
    which: string,
    count: { usual: number; long: number },
    format: RecordFormat<T>,
    rows: readonly object[],
  ): void {
    // Exactly: a valid text is what mutations begin with.
    const lines = rows.map((row) =>
      JSON.stringify(row, (_name, value) => (typeof value === "bigint" ? rawJson(String(value)) : value)),
    );
    const texts = { csv: toCsv(rows), jsonl: `${lines.join("\n")}\n`, json: `[\n${lines.join(",\n")}\n]\n` };

    for (const fileFormat of ["csv", "jsonl", "json"] as const) {
      const material = { tokens, corpus: [texts[fileFormat]], maxLength: 8_192 };
      fuzz(
        `${which} in ${fileFormat} is refused by its line, or exported as it was read`,
        count,
        async (random, refused) => {
          const text = mutated(random, material);
          const bytes = random.oneIn(20) ? Buffer.from(text, "latin1") : Buffer.from(text);
          const length = Math.max(random.pick([7, 100, 65_536]), bytes.length >> 8);
          const read = Array.fromAsync(readRecords(chunksOf(bytes, length), fileFormat, format));
          const records = await read.catch((reason: unknown) => {
            refused();
            expect(reason).toBeInstanceOf(RecordError);
            expect((reason as RecordError).line).toBeLessThanOrEqual(text.split("\n").length);
            return undefined;
          });
          if (records !== undefined) {
            const whole = records.filter((record) => isWhole(format, record));
            await expectRoundTrip(whole, format, random.pick(writtenFormats));
          }
        },
      );
    }
  }

  async function expectRoundTrip<T extends { readonly id: bigint }>(
    records: T[],
    format: RecordFormat<T>,
    written: (typeof writtenFormats)[number],
  ): Promise<void> {
    const text = (await Array.fromAsync(writeRecords(toAsync(records), written, format))).join("");
    const read = await Array.fromAsync(readRecords(chunksOf(Buffer.from(text), 65_536), written, format));
    // The other takes long for long lists.
    if (!isDeepStrictEqual(read, records)) {
      expect(read).toEqual(records);
    }
  }

  async function* toAsync<T>(values: readonly T[]): AsyncGenerator<T, void, undefined> {
    yield* values;
  }
});

describe("a long line in many pieces", () => {
  it.each(["jsonl", "json"] as const)("is looked over once: %s", async (fileFormat) => {
    const bytes = Buffer.from(`["${"a".repeat(4_000_000)}"]`);
    const readIn = (length: number) => async () => {
      const reading = Array.fromAsync(readRecords(chunksOf(bytes, length), fileFormat, petRecord));
      await expect(reading).rejects.toBeInstanceOf(RecordError);
    };
    const wholeMs = await leastCpuMs(readIn(bytes.length));
    expect(await leastCpuMs(readIn(4_096))).toBeLessThan(10 * wholeMs);
  });
});
