import { describe, expect, it } from "vitest";
import { parseCommand } from "../../bench/command.ts";
import { parseStat } from "../../bench/cpu-time.ts";
import { parseAnswer } from "../../bench/load/http1-connection.ts";
import { parseCalls } from "../../bench/probe/system-calls.ts";

describe("/proc/PID/stat", () => {
  const fields = "S 1 2 3 0 -1 4194560 1 0 0 0 250 50 30 70 20 0 11 0 100";

  it.each(["node", "tmux: server", "a) b (c"])("is read for a process that is named %s", (name) => {
    const stat = parseStat(`77 (${name}) ${fields}`);
    expect(stat.name).toBe(name);
    // The system's ticks are of the same length in both.
    expect(stat.cpuSeconds).toBe(3 * stat.endedChildrenSeconds);
    expect(stat.endedChildrenSeconds).toBeGreaterThan(0);
  });
});

describe("a summary of strace", () => {
  it("tells the number of calls", () => {
    const summary =
      "    calls syscall\n--------- -----\n    17093 epoll_pwait\n       12 totals\n--------- -----\n   123456 total\n";
    expect(parseCalls(summary)).toBe(123_456);
  });

  it.each(["", "strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted\n"])(
    "is refused when it is %j",
    (text) => {
      expect(() => parseCalls(text)).toThrow("no number of calls");
    },
  );
});

describe("an answer over HTTP/1.1", () => {
  const answer = 'HTTP/1.1 404 Not Found\r\nX-A: b\r\nContent-Length: 11\r\n\r\n{"code":"X"';

  it("is read with its status and its length", () => {
    expect(parseAnswer(answer)).toEqual({ status: 404, length: answer.length });
    expect(parseAnswer(`${answer}HTTP/1.1 200 OK`)).toEqual({ status: 404, length: answer.length });
  });

  it("is waited for until it is whole", () => {
    for (let length = 0; length < answer.length; length += 1) {
      expect(parseAnswer(answer.slice(0, length))).toBeUndefined();
    }
  });

  it("is refused without its length", () => {
    expect(() => parseAnswer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")).toThrow(
      "without content-length",
    );
  });
});

describe("the bench's arguments", () => {
  it.each([
    { args: [], rounds: 3, only: "", isPublished: true },
    { args: ["--quick"], rounds: 2, only: "", isPublished: true },
    { args: ["--trial"], rounds: 1, only: "", isPublished: false },
    { args: ["--quick", "--only", "TLS"], rounds: 2, only: "TLS", isPublished: false },
  ])("$args", ({ args, rounds, only, isPublished }) => {
    const command = parseCommand(args);
    expect(command).toMatchObject({ plan: { rounds }, only, isPublished });
  });

  it("can be asked for", () => {
    expect(parseCommand(["--help"])).toBe("help");
  });

  it("are refused when unknown", () => {
    expect(() => parseCommand(["--fast"])).toThrow("--fast");
  });
});
