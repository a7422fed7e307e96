import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { CallRecord } from "../../src/http/exchange.ts";
import { createCallLog, outcomeOf } from "../../src/observability/call-observer.ts";

/** The levels of the lines that a call leaves in a log of this level. */
function levelsOf(level: string, noted: Partial<CallRecord>): number[] {
  const lines: string[] = [];
  const logger = pino({ level }, { write: (line: string) => void lines.push(line) });
  const record = Object.assign(new CallRecord(), { isWhole: true, ...noted });
  const log = createCallLog(logger, () => undefined);
  log({ record, requestId: "1", clientAddress: "127.0.0.1", path: "/v1/inventory" }, outcomeOf(record));
  return lines.map((line) => (JSON.parse(line) as { level: number }).level);
}

const { debug, info, warn } = pino.levels.values;

describe("a call", () => {
  it.each<[title: string, noted: Partial<CallRecord>, level: number | undefined]>([
    ["that succeeds", {}, debug],
    ["that the caller has got wrong", { code: "PET_NOT_FOUND" }, debug],
    ["whose client has gone away", { isWhole: false }, debug],
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
