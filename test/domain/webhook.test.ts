import { describe, expect, it } from "vitest";
import {
  hasFailedTooLong,
  longestWaitMs,
  newProgress,
  pausedAfterMs,
  progressAfterFailure,
} from "../../src/domain/webhook.ts";

const startMs = 1_700_000_000_000;

describe("a webhook whose attempts fail", () => {
  it.each([
    [72, pausedAfterMs, true],
    [71, pausedAfterMs, false],
    [2, 10 * pausedAfterMs, false],
    [1_000, pausedAfterMs - 1, false],
  ])("after %d attempts and %d ms has failed too long: %s", (failures, ms, expected) => {
    const failing = { ...newProgress(0n), failures, failingSinceMs: startMs };
    expect(hasFailedTooLong(failing, startMs + ms)).toBe(expected);
  });

  it.each([
    [undefined, 5_000],
    [60_000, 60_000],
    [longestWaitMs, longestWaitMs],
    [10 * longestWaitMs, longestWaitMs],
  ])("and that asks to wait for %s ms is tried again after %d ms", (retryAfterMs, expected) => {
    const { nextAttemptAtMs } = progressAfterFailure(newProgress(0n), { nowMs: startMs, random: 0, retryAfterMs });
    expect(nextAttemptAtMs).toBe(startMs + expected);
  });

  it.each([
    ["the shortest waits", 0, undefined, 0],
    ["the longest waits", 0.999_999, longestWaitMs, 0],
    ["the longest waits, and no answer each time", 0.999_999, longestWaitMs, 10_000],
  ])("has failed too long at most an hour after 3 days with %s", (_name, random, retryAfterMs, durationMs) => {
    let nowMs = startMs + durationMs;
    let progress = progressAfterFailure(newProgress(0n), { nowMs, random, retryAfterMs });
    while (!hasFailedTooLong(progress, nowMs)) {
      nowMs = (progress.nextAttemptAtMs ?? 0) + durationMs;
      progress = progressAfterFailure(progress, { nowMs, random, retryAfterMs });
    }
    const failedMs = nowMs - (progress.failingSinceMs ?? 0);
    expect(failedMs).toBeGreaterThanOrEqual(pausedAfterMs);
    expect(failedMs).toBeLessThanOrEqual(pausedAfterMs + longestWaitMs);
  });

  it("is failing since now where its first attempt is in the future, by a clock that was ahead", () => {
    const failing = { ...newProgress(0n), failures: 1, failingSinceMs: startMs + 1 };
    const { failingSinceMs } = progressAfterFailure(failing, { nowMs: startMs, random: 0, retryAfterMs: undefined });
    expect(failingSinceMs).toBe(startMs);
  });
});
