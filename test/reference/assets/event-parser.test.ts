import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventParser } from "../../../src/reference/assets/watch/event-parser.js";

/** What is read of a text that comes in these pieces. */
function read(...pieces: readonly string[]) {
  const parser = new EventParser();
  return pieces.flatMap((piece) => [...parser.read(piece)]);
}

const block = { type: "message", id: undefined, data: undefined, retryMs: undefined };

describe("an event stream", () => {
  it.each([
    ["an event", "id: a\nevent: stock-change\ndata: {}\n\n", [{ ...block, id: "a", type: "stock-change", data: "{}" }]],
    ["a heartbeat", ": heartbeat\nid: b\n\n", [{ ...block, id: "b" }]],
    ["an end", "retry: 1000\nevent: error\ndata: {}\n\n", [{ ...block, type: "error", data: "{}", retryMs: 1_000 }]],
    ["several lines of data", "data: 1\ndata:2\ndata\ndata:  3\n\n", [{ ...block, data: "1\n2\n\n 3" }]],
    ["data with colons", "data: a: b:c\n\n", [{ ...block, data: "a: b:c" }]],
    ["an empty id", "id\n\n", [{ ...block, id: "" }]],
    ["an id with NUL", "id: a\0b\ndata: x\n\n", [{ ...block, data: "x" }]],
    ["a retry that is no number", "retry: 1s\ndata: x\n\n", [{ ...block, data: "x" }]],
    ["what has no end", "data: x\n", []],
    ["empty lines alone", "\n\n\r\n\r\r", []],
    ["a byte order mark", "\uFEFFdata: x\n\n", [{ ...block, data: "x" }]],
    ["a byte order mark in the middle", "data: \uFEFFx\n\n", [{ ...block, data: "\uFEFFx" }]],
    ["unknown fields", "__proto__: x\nconstructor: y\ndata: x\n\n", [{ ...block, data: "x" }]],
  ])("has %s", (_what, text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it("is the same in any pieces, and with any ends of lines", () => {
    const text = "\uFEFF: heartbeat\nid: 1\n\nid: 2\nevent: e\ndata: a\ndata: b\n\nretry: 5\ndata: z\n\ndata: lost";
    const expected = read(text);
    expect(expected).toHaveLength(3);
    const piecesOf = (whole: string, cuts: readonly number[]) => {
      const ends = [0, ...cuts.map((cut) => cut % whole.length).toSorted((a, b) => a - b), whole.length];
      return ends.slice(1).map((end, index) => whole.slice(ends[index], end));
    };
    fc.assert(
      fc.property(fc.constantFrom("\n", "\r", "\r\n"), fc.array(fc.nat(), { maxLength: 20 }), (end, cuts) => {
        // An end of line that is a single carriage return is known as such by what follows.
        const whole = `${text.replaceAll("\n", end)}!`;
        expect(read(...piecesOf(whole, cuts))).toEqual(expected);
      }),
    );
  });

  it("is read whatever it is", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom("a", ":", " ", "\n", "\r", "id", "data", "\0") })),
        (pieces) => {
          expect(read(...pieces, "\n")).toEqual(read(`${pieces.join("")}\n`));
        },
      ),
    );
  });
});
