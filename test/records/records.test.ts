import { describe, expect, it } from "vitest";
import { RecordError } from "../../src/records/record-error.ts";
import { orderRecord, petRecord, type RecordFormat } from "../../src/records/record-format.ts";
import { type FileFormat, FirstLines, readRecords } from "../../src/records/records.ts";
import { chunksOf } from "../support/chunks.ts";

/** Returns the records, or `LINE: message`. The chunks are small, so that chunks end everywhere. */
async function read<T extends { readonly id: bigint }>(
  format: FileFormat,
  content: string | Uint8Array,
  records: RecordFormat<T>,
): Promise<unknown> {
  try {
    return await Array.fromAsync(readRecords(chunksOf(Buffer.from(content), 5), format, records));
  } catch (error) {
    if (error instanceof RecordError) {
      return `${error.line}: ${error.message}`;
    }
    throw error;
  }
}

async function check(format: FileFormat, content: string | Uint8Array, expected: unknown): Promise<void> {
  expect(await read(format, content, petRecord)).toEqual(expected);
}

const int64 = "must be an integer from -9223372036854775808 to 9223372036854775807";
const header = "id,name,category,photoUrls,tags,status,quantity\n";
const rex = {
  id: 7n,
  name: "Rex",
  category: "dog",
  photoUrls: [],
  tags: ["a", "b"],
  status: "available",
  quantity: 3n,
};

describe("CSV", () => {
  it.each<[string, string | Uint8Array, unknown]>([
    ["reads rows", `${header}7,Rex,dog,,a;b,available,3\n`, [rex]],
    ["needs no newline at the end", `${header}7,Rex,dog,,a;b,available,3`, [rex]],
    ["takes CRLF and a byte order mark", `\ufeff${header}7,Rex,dog,,a;b,available,3\n`.replaceAll("\n", "\r\n"), [rex]],
    [
      "takes columns in any order",
      "quantity,status,tags,photoUrls,category,name,id\n3,available,a;b,,dog,Rex,7\n",
      [rex],
    ],
    ["skips empty lines", `\n${header}\n\n7,Rex,dog,,a;b,available,3\n\n`, [rex]],
    [
      "takes quotes and newlines in cells",
      `${header}7,"R""e\r\nx",dog,,a;b,available,3\n`,
      [{ ...rex, name: 'R"e\r\nx' }],
    ],
    ["takes empty texts and lists", `${header}7,,,,,available,3\n`, [{ ...rex, name: "", category: "", tags: [] }]],
    [
      "takes the ends of int64",
      `${header}-9223372036854775808,Rex,dog,,a;b,available,9223372036854775807\n`,
      [{ ...rex, id: -(2n ** 63n), quantity: 2n ** 63n - 1n }],
    ],
    ["takes a header alone", header, []],
    ["refuses an empty file", "", "1: the header row is missing"],
    [
      "refuses unknown columns",
      "id,colour\n",
      '1: "colour" is not a column of pets; the columns are id,name,category,photoUrls,tags,status,quantity',
    ],
    [
      "takes some columns alone",
      "quantity,id\n3,7\n-1,8\n",
      [
        { id: 7n, quantity: 3n },
        { id: 8n, quantity: -1n },
      ],
    ],
    [
      "takes a list alone",
      "id,tags\n7,\n8,a;b\n",
      [
        { id: 7n, tags: [] },
        { id: 8n, tags: ["a", "b"] },
      ],
    ],
    ["refuses a file without ids", "name,quantity\nRex,3\n", "1: the column id is missing"],
    ["refuses ids alone", "id\n7\n", "1: there is no column but id, so there is nothing to import"],
    ["refuses an empty cell for a number", "id,quantity\n7,\n", `2: quantity: ${int64}, not ""`],
    [
      "refuses rows of another length than some columns",
      "id,quantity\n7,3,4\n",
      "2: there must be 2 cells, as in the header, not 3",
    ],
    ["refuses repeated columns", `id,${header}`, "1: the column id appears twice"],
    ["refuses rows of another length", `${header}7,Rex\n`, "2: there must be 7 cells, as in the header, not 2"],
    ["refuses fractions", `${header}7,Rex,dog,,,available,3.5\n`, `2: quantity: ${int64}, not "3.5"`],
    ["refuses an empty number", `${header},Rex,dog,,,available,3\n`, `2: id: ${int64}, not ""`],
    ["refuses leading zeros", `${header}07,Rex,dog,,,available,3\n`, `2: id: ${int64}, not "07"`],
    [
      "refuses what is beyond int64",
      `${header}7,Rex,dog,,,available,9223372036854775808\n`,
      `2: quantity: ${int64}, not "9223372036854775808"`,
    ],
    [
      "refuses unknown statuses",
      `${header}7,Rex,dog,,,lost,3\n`,
      '2: status: must be one of available, pending, sold, not "lost"',
    ],
    ["refuses NUL", `${header}7,R\0x,dog,,,sold,3\n`, "2: name: must not contain the character NUL"],
    [
      "names both lines of a repeated id",
      `${header}7,,,,,sold,3\n8,,,,,sold,3\n7,,,,,sold,4\n`,
      "4: id: 7 is already on line 2",
    ],
    [
      "names the line on which a row starts, after rows of several lines",
      `\r\n${header}1,"a\r\nb\r\n",,,,sold,3\r\n\r\n\n2,"a\n\nb",,,,sold,x\r\n`,
      `8: quantity: ${int64}, not "x"`,
    ],
    [
      "names the line on which an open quote starts, after rows of several lines",
      `${header}1,"a\r\nb",,,,sold,3\n\n2,"a\nb,,,sold,x\n`,
      "5: a quote is opened here and never closed",
    ],
    [
      "refuses a quote within a cell",
      `${header}7,R"e"x,,,,sold,3\n`,
      "2: a cell with a quote in it must be quoted as a whole, and its quotes doubled",
    ],
    [
      "refuses text after a closing quote",
      `${header}7,"Re"x,,,,sold,3\n`,
      "2: a closing quote must be followed by a comma or the end of the line",
    ],
    [
      "refuses the first bad row",
      `${header}7,Rex,dog,,,lost,3\n8,"Re"x,,,,sold,3\n`,
      '2: status: must be one of available, pending, sold, not "lost"',
    ],
    [
      "refuses what is not UTF-8",
      Buffer.concat([Buffer.from(`${header}7,é,,,,sold,3\n8,`), Buffer.from([0xe9]), Buffer.from(",,,,sold,3\n")]),
      "3: the text is not UTF-8",
    ],
    [
      "refuses half a character at the end",
      Buffer.concat([Buffer.from(header), Buffer.from([0xc3])]),
      "2: the text is not UTF-8",
    ],
  ])("%s", (_, content, expected) => check("csv", content, expected));
});

const json = '{"id":7,"name":"Rex","category":"dog","photoUrls":[],"tags":["a","b"],"status":"available","quantity":3}';

describe("JSON Lines", () => {
  it.each<[string, string, unknown]>([
    ["reads lines", `${json}\n`, [rex]],
    ["needs no newline at the end", json, [rex]],
    ["skips blank lines", `\r\n\n${json}\r\n \n`, [rex]],
    ["takes an empty file", "", []],
    ["takes integers however they are written", json.replace(":3}", ":30e-1}").replace(":7,", ":7.0,"), [rex]],
    [
      "keeps int64 exact",
      json.replace(":3}", ":-9223372036854775808}").replace(":7,", ":9223372036854775807,"),
      [{ ...rex, id: 2n ** 63n - 1n, quantity: -(2n ** 63n) }],
    ],
    ["refuses fractions", `\n${json.replace(":3}", ":3.5}")}`, `2: quantity: ${int64}, not 3.5`],
    ["refuses numbers as text", json.replace(":3}", ':"3"}'), `1: quantity: ${int64}, not "3"`],
    ["refuses endless numbers", json.replace(":3}", ":1e999999999}"), `1: quantity: ${int64}, not 1e999999999`],
    ["refuses null", json.replace('"Rex"', "null"), "1: name: must be text, not null"],
    ["refuses a text for a list", json.replace('["a","b"]', '"a;b"'), '1: tags: must be an array of texts, not "a;b"'],
    ["refuses other things in a list", json.replace('"b"]', "{}]"), "1: tags: must be text, not an object"],
    [
      "refuses half of a surrogate pair",
      json.replace("Rex", "\\ud83d"),
      "1: the record must not hold half of a surrogate pair",
    ],
    [
      "takes some fields alone",
      '{"quantity":3,"id":7}\n{"id":8,"tags":[]}',
      [
        { id: 7n, quantity: 3n },
        { id: 8n, tags: [] },
      ],
    ],
    ["refuses a missing id", json.replace('"id":7,', ""), "1: id: is missing"],
    ["refuses ids alone", '{"id":7}', "1: there is no field but id, so there is nothing to import"],
    ["refuses unknown fields beside some", '{"id":7,"colour":1}', '1: "colour" is not a field of pets'],
    ["refuses null for a field that is to stay", '{"id":7,"quantity":null}', `1: quantity: ${int64}, not null`],
    ["refuses unknown fields", json.replace("}", ',"colour":1}'), '1: "colour" is not a field of pets'],
    [
      "refuses repeated fields",
      `\n${json.replace("}", ',"\\u0069d" : 7}')}`,
      '2: the record must not have a name twice: "id"',
    ],
    ["takes a text that is a name, too", json.replace("Rex", "id"), [{ ...rex, name: "id" }]],
    ["refuses what is not an object", "[]", "1: must be an object, not an array"],
    ["refuses a number for an object", "1.0", "1: must be an object, not 1.0"],
    ["refuses what is not JSON", `${json}\n{"id":`, "2: the record must be valid JSON"],
    ["names both lines of a repeated id", `${json}\n${json}`, "2: id: 7 is already on line 1"],
  ])("%s", (_, content, expected) => check("jsonl", content, expected));
});

describe("a JSON array", () => {
  it.each<[string, string, unknown]>([
    ["reads elements", `[${json}]`, [rex]],
    ["may be empty", " [\n]\n", []],
    [
      "keeps brackets, quotes and backslashes in texts",
      `[${json.replace("Rex", '}],[{\\"\\\\')}]`,
      [{ ...rex, name: '}],[{"\\' }],
    ],
    ["names the line on which an element starts", `[\n${json}\n,\n\n  {\n\n"name": "a" }\n]`, "5: id: is missing"],
    [
      "refuses repeated fields",
      `[\n${json.replace("}", ',"id":7}')}]`,
      '2: the record must not have a name twice: "id"',
    ],
    ["names both lines of a repeated id", `[\n${json},\n${json}]`, "3: id: 7 is already on line 2"],
    ["refuses an empty file", "", "1: this is not a JSON array: it must begin with ["],
    ["refuses other values", '\n{"id": 1}', "2: this is not a JSON array: it must begin with ["],
    ["refuses other values before it", "1 []", "1: this is not a JSON array: it must begin with ["],
    ["refuses an end that is missing", `[${json}\n`, "1: the array is not complete: its ] is missing"],
    ["refuses another end", `[${json}\n}`, "1: found } where the array should end"],
    ["refuses a comma too many", `[${json},\n]`, "2: an element is missing beside a comma"],
    ["refuses a comma alone", "[,]", "1: an element is missing beside a comma"],
    ["refuses a comma that is missing", `[\n${json}\n${json}]`, "2: the record must be valid JSON"],
    ["refuses more after it", `[${json}]\n\n1`, "3: nothing may follow the array"],
    ["refuses a second array", "[]\n[]", "2: nothing may follow the array"],
    ["refuses elements that are not JSON", "[\n\n{id: 1}]", "3: the record must be valid JSON"],
  ])("%s", (_, content, expected) => check("json", content, expected));
});

const order = { id: 1n, petId: 7n, quantity: 2n, shipDateMs: 0, status: "placed", complete: false };
const timestamp =
  "shipDate: must be an RFC 3339 date and time no finer than a millisecond, such as 2026-06-01T12:00:00Z";

describe("an order", () => {
  it.each<[string, string, unknown]>([
    ["has a date", "1970-01-01T00:00:00Z,placed,false", [order]],
    ["has a date with an offset", "1970-01-01t02:30:00.000000+02:30,placed,false", [order]],
    ["has milliseconds", "1970-01-01T00:00:00.25Z,placed,true", [{ ...order, shipDateMs: 250, complete: true }]],
    ["has nothing finer", "1970-01-01T00:00:00.0001Z,placed,true", `2: ${timestamp}, not "1970-01-01T00:00:00.0001Z"`],
    ["is on a day that exists", "1970-02-29T00:00:00Z,placed,true", `2: ${timestamp}, not "1970-02-29T00:00:00Z"`],
    ["has an hour that exists", "1970-01-01T24:00:00Z,placed,true", `2: ${timestamp}, not "1970-01-01T24:00:00Z"`],
    [
      "is not before the year 1",
      "0001-01-01T00:00:00+00:01,placed,true",
      `2: ${timestamp}, not "0001-01-01T00:00:00+00:01"`,
    ],
    ["has an offset", "1970-01-01T00:00:00,placed,true", `2: ${timestamp}, not "1970-01-01T00:00:00"`],
    [
      "has a status",
      "1970-01-01T00:00:00Z,sold,true",
      '2: status: must be one of placed, approved, delivered, not "sold"',
    ],
    ["is complete or not", "1970-01-01T00:00:00Z,placed,yes", '2: complete: must be true or false, not "yes"'],
  ])("%s", async (_, cells, expected) => {
    const content = `id,petId,quantity,shipDate,status,complete\n1,7,2,${cells}\n`;
    expect(await read("csv", content, orderRecord)).toEqual(expected);
  });
});

it("the lines of ids are as many as there are, however few a map can have", () => {
  const lines = new FirstLines(3);
  const ids = Array.from({ length: 10 }, (_, index) => 2n ** 53n - 5n + BigInt(index));
  for (const [index, id] of ids.entries()) {
    lines.add(id, index + 1);
  }
  for (const [index, id] of ids.entries()) {
    expect(lines.get(id)).toBe(index + 1);
    expect(() => lines.add(id, 11)).toThrow(`id: ${id} is already on line ${index + 1}`);
  }
  expect(lines.get(7n)).toBeUndefined();
});
