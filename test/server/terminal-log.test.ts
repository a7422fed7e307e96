import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { createTerminalFormat } from "../../src/server/terminal-log.ts";

const time = Date.UTC(2026, 5, 1, 12);
const common = { level: 20, time, pid: 1, hostname: "a" };
const call = {
  ...common,
  requestId: "4f2a",
  protocol: "rest",
  method: "petstore.v1.PetService/GetPet",
  code: "OK",
  status: 200,
  keyId: "key_a",
  clientAddress: "127.0.0.1",
  durationMs: 1.234,
  requestBytes: 0,
  responseBytes: 95,
  msg: "call",
};

describe("the log on a terminal", () => {
  it.each<[what: string, entry: object, text: string]>([
    ["is a line a call", call, "DEBUG: 200 OK PetService/GetPet in 1.2 ms, rest, key_a, 127.0.0.1, requestId 4f2a"],
    [
      "leaves out what is not known of a call",
      {
        ...common,
        protocol: "http",
        code: "ROUTE_NOT_FOUND",
        status: 404,
        durationMs: 0.5,
        requestId: "5",
        msg: "call",
      },
      "DEBUG: 404 ROUTE_NOT_FOUND unknown in 0.5 ms, http, requestId 5",
    ],
    [
      "is a line for other things, too",
      { ...common, level: 30, url: "http://127.0.0.1:8080", count: 3, list: [1], msg: "the server has started" },
      "INFO: the server has started, url http://127.0.0.1:8080, count 3, list [1]",
    ],
    [
      "obeys nothing that stands in it",
      { ...common, level: 40, path: "/\u001b[2J\u009b2J\n\u202e", msg: "x" },
      "WARN: x, path /�[2J�2J��",
    ],
  ])("%s", (_, entry, text) => {
    const line = createTerminalFormat({ colour: false })(JSON.stringify(entry));
    // The time is the reader's own.
    expect(line.replace(/^\[\d\d:\d\d:00\.000\] /, "")).toBe(`${text}\n`);
  });

  it("shows the stack of an error", () => {
    const err = { type: "Error", message: "boom", stack: "Error: boom\n    at f (a.ts:1)" };
    const text = createTerminalFormat({ colour: false })(JSON.stringify({ ...common, level: 50, err, msg: "failed" }));
    expect(text).toMatch(/^\[\d\d:\d\d:00\.000\] ERROR: failed\n/);
    expect(text).toContain("at f (a.ts:1)\n");
  });

  it("has colours where they are wanted, and the same text", () => {
    const line = JSON.stringify(call);
    const [plain, coloured] = [false, true].map((colour) => createTerminalFormat({ colour })(line));
    expect(plain).not.toContain("\u001b");
    expect(coloured).toContain("\u001b[");
    expect(stripVTControlCharacters(coloured ?? "")).toBe(plain);
  });
});
