import { describe, expect, it } from "vitest";
import { decideAnonymous } from "../../src/domain/limits.ts";
import type { Window } from "../../src/domain/usage.ts";

const start = 1_700_000_000_250;

function ask(times: number, nowMs: number, window?: Window) {
  let decision = decideAnonymous(window, nowMs);
  for (let n = 1; n < times; n += 1) {
    decision = decideAnonymous(decision.window, nowMs);
  }
  return decision;
}

describe("a request without a valid key", () => {
  it("is counted by a minute of its address", () => {
    expect(ask(1, start)).toEqual({
      outcome: "admitted",
      window: { openedAtMs: start, count: 1 },
      headerValues: { limit: 300, remaining: 299, resetSeconds: 1_700_000_061 },
      windows: [
        {
          name: "minute",
          lengthSeconds: 60,
          limit: 300,
          remaining: 299,
          resetAtMs: start + 60_000,
          resetAfterSeconds: 60,
        },
      ],
      retryAfterSeconds: undefined,
    });
  });

  it("is refused beyond 300 in a minute, and charged no more", () => {
    expect(ask(300, start).outcome).toBe("admitted");
    expect(ask(1_000, start)).toMatchObject({
      outcome: "refused",
      window: { count: 300 },
      headerValues: { limit: 300, remaining: 0 },
      retryAfterSeconds: 60,
    });
  });

  it("is admitted again after Retry-After", () => {
    const { window, retryAfterSeconds = 0 } = decideAnonymous(ask(300, start).window, start + 1_001);
    expect(retryAfterSeconds).toBe(59);
    expect(decideAnonymous(window, start + 1_001 + 59_000).outcome).toBe("admitted");
    expect(decideAnonymous(window, start + 59_999).outcome).toBe("refused");
  });
});
