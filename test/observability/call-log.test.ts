import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallRecord } from "../../src/http/exchange.ts";
import { createCallLog, outcomeOf } from "../../src/observability/call-observer.ts";
import { createFailureReport } from "../../src/server/api.ts";

/** The levels of the lines that a call leaves in a log of this level. */
function levelsOf(level: string, noted: Partial<CallRecord>): number[] {
  const lines: string[] = [];
  const logger = pino({ level }, { write: (line: string) => void lines.push(line) });
  const record = Object.assign(new CallRecord(), { isWhole: true, ...noted });
  const log = createCallLog(logger, () => undefined);
  log.ended({ record, requestId: "1", clientAddress: "127.0.0.1", path: "/v1/inventory" }, outcomeOf(record));
  return lines.map((line) => (JSON.parse(line) as { level: number }).level);
}

const { debug, info, warn } = pino.levels.values;

describe("a call", () => {
  it.each<[title: string, noted: Partial<CallRecord>, level: number | undefined]>([
    ["that succeeds", {}, debug],
    ["that the caller has got wrong", { code: "PET_NOT_FOUND" }, debug],
    ["whose client has gone away", { isWhole: false }, debug],
    ["whose client has gone away, though it failed", { code: "INTERNAL", isWhole: false }, debug],
    ["whose answer broke off", { code: "INTERNAL", isWhole: false, isBrokenOff: true }, warn],
    ["of just a second", { durationMs: 1_000 }, debug],
    ["of more than a second", { durationMs: 1_001 }, info],
    ["that the service has failed", { code: "INTERNAL" }, warn],
    ["that cannot reach the store", { code: "UNAVAILABLE", durationMs: 5_000 }, warn],
    ["past its deadline", { code: "DEADLINE_EXCEEDED", durationMs: 100 }, warn],
    ["past its deadline, without its body", { code: "DEADLINE_EXCEEDED", isBodyLate: true, durationMs: 900 }, debug],
    ["past a deadline that was too short for any answer", { code: "DEADLINE_EXCEEDED", durationMs: 99 }, debug],
    ["that streams, past its client's deadline", { code: "DEADLINE_EXCEEDED", isStream: true, durationMs: 900 }, debug],
  ])("%s is logged at its level, and not below", (_title, noted, level) => {
    expect(levelsOf("debug", noted)).toEqual([level]);
    expect(levelsOf("info", noted)).toEqual([level].filter((value) => (value as number) >= (info as number)));
    expect(levelsOf("warn", noted)).toEqual([level].filter((value) => (value as number) >= (warn as number)));
    expect(levelsOf("silent", noted)).toEqual([]);
  });
});

describe("while the store is away", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Logs of calls that fail. `take` returns the requests and the counts of the lines since it was last called. */
  const logs: Record<
    string,
    () => { fail(requestId: string, code: "UNAVAILABLE" | "INTERNAL"): void; take(): string[]; flush(): void }
  > = {
    "the calls": () => {
      const [logger, take] = createLogger();
      const log = createCallLog(logger, () => undefined);
      return {
        take,
        flush: log.flush,
        fail(requestId, code) {
          const record = Object.assign(new CallRecord(), { isWhole: true, code });
          log.ended({ record, requestId, clientAddress: "127.0.0.1", path: "/v1/inventory" }, outcomeOf(record));
        },
      };
    },
    "their reasons": () => {
      const [logger, take] = createLogger();
      const { report, flush } = createFailureReport(logger);
      return { take, flush, fail: (requestId, code) => report({ code, cause: new Error("gone"), requestId }) };
    },
  };

  function createLogger() {
    const lines: string[] = [];
    const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const take = () =>
      lines.splice(0).map((line) => {
        const { requestId, unlogged } = JSON.parse(line) as { requestId: string; unlogged?: number };
        return unlogged === undefined ? requestId : `${requestId}, ${unlogged} unlogged`;
      });
    return [logger, take] as const;
  }

  it.each(Object.keys(logs))("a line in ten seconds tells of %s, and how many others there were", (name) => {
    const log = (logs[name] as NonNullable<(typeof logs)[string]>)();
    for (const requestId of ["a", "b", "c", "d"]) {
      log.fail(requestId, "UNAVAILABLE");
    }
    expect(log.take()).toEqual(["a"]);
    log.fail("e", "INTERNAL");
    expect(log.take()).toEqual(["e"]);
    vi.advanceTimersByTime(9_999);
    expect(log.take()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(log.take()).toEqual(["d, 2 unlogged"]);
    log.fail("f", "UNAVAILABLE");
    vi.advanceTimersByTime(10_000);
    expect(log.take()).toEqual(["f"]);
    vi.advanceTimersByTime(60_000);
    log.fail("g", "UNAVAILABLE");
    expect(log.take()).toEqual(["g"]);
  });

  it.each(Object.keys(logs))("the end of the server leaves none of %s uncounted", (name) => {
    const log = (logs[name] as NonNullable<(typeof logs)[string]>)();
    log.flush();
    for (const requestId of ["a", "b", "c", "d"]) {
      log.fail(requestId, "UNAVAILABLE");
    }
    expect(log.take()).toEqual(["a"]);
    log.flush();
    expect(log.take()).toEqual(["d, 2 unlogged"]);
    log.flush();
    vi.advanceTimersByTime(9_999);
    log.fail("e", "UNAVAILABLE");
    log.fail("f", "UNAVAILABLE");
    expect(log.take()).toEqual(["e"]);
    vi.advanceTimersByTime(9_999);
    expect(log.take()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(log.take()).toEqual(["f"]);
  });

  it("a line in ten seconds tells of each reason", () => {
    const [logger, take] = createLogger();
    const { report } = createFailureReport(logger);
    for (const requestId of ["a", "b"]) {
      for (const reason of ["gone", "full"]) {
        report({ code: "UNAVAILABLE", cause: new Error(reason), requestId: `${requestId}, ${reason}` });
      }
    }
    report({ code: "UNAVAILABLE", cause: undefined, requestId: "c" });
    expect(take()).toEqual(["a, gone", "a, full", "c"]);
    vi.advanceTimersByTime(10_000);
    expect(take()).toEqual(["b, gone", "b, full"]);
  });
});
