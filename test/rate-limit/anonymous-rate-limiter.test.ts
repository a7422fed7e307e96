import { expect, it } from "vitest";
import { createAnonymousRateLimiter } from "../../src/rate-limit/anonymous-rate-limiter.ts";

it("counts strangers by their network, 300 a minute", () => {
  let nowMs = 1_000_000;
  const limiter = createAnonymousRateLimiter(() => nowMs);
  const outcomes = Array.from({ length: 301 }, (_, i) => limiter.decideNow(`2001:db8::${i}`).outcome);
  expect(outcomes.filter((outcome) => outcome === "admitted").length).toBe(300);
  expect(outcomes.at(-1)).toBe("refused");
  expect(limiter.decideNow("192.0.2.1").outcome).toBe("admitted");
  nowMs += 60_000;
  expect(limiter.decideNow("2001:db8::1").outcome).toBe("admitted");
});
