import { describe, expect, it } from "vitest";
import { newKey, type Quota } from "../../src/domain/key.ts";
import {
  type DecisionWithUsage,
  decide,
  decideAnonymous,
  describeLimits,
  type Limits,
  noUsage,
  quotaOf,
  type Usage,
  type Window,
} from "../../src/domain/limits.ts";

/** A moment with a sub-second part, so that what is rounded shows. */
const start = 1_700_000_000_250;
const free: Quota = { perMinute: 60, perDay: 1_000 };
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** One caller, its usage, and the clock. */
class Caller {
  usage: Usage = noUsage;
  unbans = 0;
  nowMs = start;
  quota: Quota;

  constructor(quota: Quota = free) {
    this.quota = quota;
  }

  ask(): DecisionWithUsage {
    const decision = decide(this.usage, this, this.nowMs);
    this.usage = decision.usage;
    return decision;
  }

  /** How the caller stands, which costs nothing. */
  tell(): Limits {
    return describeLimits(this.usage, this, this.nowMs);
  }

  /** Asks several times, and returns the last decision. */
  askTimes(times: number): DecisionWithUsage {
    for (let n = 1; n < times; n += 1) {
      this.ask();
    }
    return this.ask();
  }

  unban(): void {
    this.unbans += 1;
  }

  wait(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  /** Uses the minute up, and then asks until it is banned. */
  getBanned(): DecisionWithUsage {
    const refusals = Math.max(20, this.quota.perMinute);
    let decision = this.ask();
    while (decision.outcome === "admitted") {
      decision = this.ask();
    }
    for (let n = 1; n < refusals && decision.outcome === "refused"; n += 1) {
      decision = this.ask();
    }
    return decision;
  }
}

/** The moment after which many milliseconds, in Unix seconds, rounded up. */
const at = (ms: number) => start + ms;

describe("an admitted request", () => {
  it("is charged to both windows", () => {
    const { usage } = new Caller().askTimes(3);
    expect(usage).toEqual({
      ...noUsage,
      minute: { openedAtMs: start, count: 3 },
      day: { openedAtMs: start, count: 3 },
    });
  });

  it("is described by the window with the fewest requests remaining", () => {
    expect(new Caller().ask()).toMatchObject({
      outcome: "admitted",
      shown: { limit: 60, remaining: 59, resetAtMs: at(minute) },
    });
    expect(new Caller({ perMinute: 60, perDay: 10 }).ask().shown).toMatchObject({
      limit: 10,
      remaining: 9,
      resetAtMs: at(day),
    });
  });

  it("is described by the longer window on a tie", () => {
    expect(new Caller({ perMinute: 60, perDay: 60 }).ask().shown.resetAtMs).toBe(at(day));
  });

  it("shows both windows", () => {
    expect(new Caller().ask().windows).toMatchObject([
      { name: "minute", lengthSeconds: 60, limit: 60, remaining: 59, resetAfterSeconds: 60 },
      { name: "day", lengthSeconds: 86_400, limit: 1_000, remaining: 999, resetAfterSeconds: 86_400 },
    ]);
  });
});

describe("a window", () => {
  it("is opened by the first request that it counts, and closes to the millisecond", () => {
    const caller = new Caller({ perMinute: 1, perDay: 100 });
    caller.ask();
    expect(caller.wait(minute - 1).ask().outcome).toBe("refused");
    expect(caller.wait(1).ask().outcome).toBe("admitted");
    expect(caller.usage.minute).toEqual({ openedAtMs: start + minute, count: 1 });
    expect(caller.usage.day).toEqual({ openedAtMs: start, count: 2 });
  });

  it("never has less than nothing remaining, though the quota shrinks", () => {
    const caller = new Caller();
    caller.askTimes(30);
    caller.quota = { perMinute: 10, perDay: 20 };
    expect(caller.ask()).toMatchObject({ outcome: "refused", windows: [{ remaining: 0 }, { remaining: 0 }] });
    caller.quota = { perMinute: 40, perDay: 100 };
    expect(caller.ask()).toMatchObject({ outcome: "admitted", shown: { remaining: 9 } });
  });
});

describe("a refused request", () => {
  it("is charged to neither window", () => {
    const caller = new Caller({ perMinute: 100, perDay: 2 });
    caller.askTimes(2);
    const { outcome, usage } = caller.wait(2 * minute).ask();
    expect(outcome).toBe("refused");
    expect(usage).toMatchObject({ minute: undefined, day: { count: 2 } });
  });

  it("is described by the window that refuses", () => {
    const caller = new Caller({ perMinute: 2, perDay: 100 });
    expect(caller.askTimes(3)).toMatchObject({
      shown: { limit: 2, remaining: 0, resetAtMs: at(minute), resetAfterSeconds: 60 },
    });
  });

  it("is described by the window with the later reset when both refuse", () => {
    const caller = new Caller({ perMinute: 2, perDay: 2 });
    expect(caller.askTimes(3)).toMatchObject({
      shown: { limit: 2, remaining: 0, resetAtMs: at(day), resetAfterSeconds: 86_400 },
    });
    const late = new Caller({ perMinute: 2, perDay: 3 });
    late.ask();
    late.wait(day - 10 * second).askTimes(2);
    expect(late.ask()).toMatchObject({
      shown: { limit: 2, resetAtMs: at(day + 50 * second), resetAfterSeconds: 60 },
    });
  });

  it.each([0, 1, 499, 999, 59_001, 59_999])("is admitted after Retry-After, asked %d ms later", (ms) => {
    const caller = new Caller({ perMinute: 1, perDay: 100 });
    caller.ask();
    const { resetAfterSeconds } = caller.wait(ms).ask().shown;
    expect(resetAfterSeconds).toBe(Math.ceil((minute - ms) / 1_000));
    expect(caller.wait(resetAfterSeconds * second).ask().outcome).toBe("admitted");
  });
});

describe("a ban", () => {
  it.each([
    [{ perMinute: 1, perDay: 100 }, 20],
    [{ perMinute: 60, perDay: 1_000 }, 60],
    [{ perMinute: 1_000, perDay: 1 }, 1_000],
  ])("with %j is imposed by refusal %d", (quota, refusals) => {
    const caller = new Caller(quota);
    caller.askTimes(Math.min(quota.perMinute, quota.perDay));
    expect(caller.askTimes(refusals - 1).outcome).toBe("refused");
    expect(caller.ask().outcome).toBe("banned");
  });

  it("is not imposed by refusals that are spread over more than a minute", () => {
    const caller = new Caller({ perMinute: 1, perDay: 1 });
    caller.ask();
    caller.wait(hour).askTimes(19);
    expect(caller.wait(minute).ask().outcome).toBe("refused");
    expect(caller.wait(minute - 1).askTimes(18).outcome).toBe("refused");
    expect(caller.ask().outcome).toBe("banned");
  });

  it("leaves nothing remaining, and names its end", () => {
    const caller = new Caller();
    const expected = {
      outcome: "banned",
      shown: { limit: 60, remaining: 0, resetAtMs: at(2 * minute), resetAfterSeconds: 120 },
      windows: [
        { remaining: 0, resetAfterSeconds: 120 },
        { remaining: 0, resetAfterSeconds: 120 },
      ],
    };
    expect(caller.getBanned()).toMatchObject(expected);
    expect(caller.ask()).toMatchObject(expected);
    expect(caller.wait(100 * second).ask()).toMatchObject({
      shown: { remaining: 0, resetAtMs: at(2 * minute), resetAfterSeconds: 20 },
    });
  });

  it("names the end of a used-up window if that is later", () => {
    const caller = new Caller({ perMinute: 60, perDay: 60 });
    expect(caller.getBanned()).toMatchObject({
      outcome: "banned",
      shown: { limit: 60, remaining: 0, resetAtMs: at(day), resetAfterSeconds: 86_400 },
    });
  });

  it("ends to the millisecond, and is not moved by requests", () => {
    const caller = new Caller();
    caller.getBanned();
    caller.wait(2 * minute - 1).ask();
    const { usage } = caller;
    caller.askTimes(1_000);
    expect(caller.usage).toEqual(usage);
    expect(caller.ask().outcome).toBe("banned");
    expect(caller.wait(1).ask().outcome).toBe("admitted");
  });

  it("lasts longer each time", () => {
    const caller = new Caller({ perMinute: 1, perDay: 1_000_000 });
    const lengths = [1, 2, 3, 4, 5, 6].map(() => {
      const { resetAfterSeconds } = caller.getBanned().shown;
      caller.wait(resetAfterSeconds * second);
      return resetAfterSeconds;
    });
    expect(lengths).toEqual([120, 600, 3_600, 21_600, 86_400, 86_400]);
  });

  it.each([
    [0, 21_600],
    [day - 1, 21_600],
    [day, 3_600],
    [2 * day - 1, 3_600],
    [2 * day, 600],
    [3 * day, 120],
    [30 * day, 120],
  ])("after three bans and %d ms since the last one's end lasts %d s", (cleanMs, expected) => {
    const caller = new Caller({ perMinute: 1, perDay: 1_000_000 });
    for (let n = 0; n < 3; n += 1) {
      caller.wait(caller.getBanned().shown.resetAfterSeconds * second);
    }
    expect(caller.wait(cleanMs).getBanned().shown.resetAfterSeconds).toBe(expected);
  });

  it("is lifted by an unban, which forgets the refusals but not the step", () => {
    const caller = new Caller();
    caller.getBanned();
    caller.unbans += 1;
    expect(caller.askTimes(59).outcome).toBe("refused");
    expect(caller.ask()).toMatchObject({ outcome: "banned", shown: { resetAfterSeconds: 600 } });
  });

  it("that has ended is not moved by an unban: the day without a ban counts from its end", () => {
    const caller = new Caller();
    caller.getBanned();
    caller.wait(2 * minute + 23 * hour).unban();
    caller.ask();
    expect(caller.wait(hour).getBanned().shown.resetAfterSeconds).toBe(120);
  });

  it("is not lifted by what an earlier read of the key says", () => {
    const caller = new Caller();
    caller.unbans = 1;
    caller.ask();
    caller.unbans = 0;
    caller.getBanned();
    caller.unbans = 1;
    expect(caller.ask().outcome).toBe("banned");
  });
});

describe("a clock that is put back", () => {
  it("admits no more than before", () => {
    const caller = new Caller();
    caller.askTimes(59);
    expect(caller.wait(-hour).ask().outcome).toBe("admitted");
    expect(caller.ask().outcome).toBe("refused");
  });

  it("keeps a caller waiting for no longer than a window", () => {
    const caller = new Caller({ perMinute: 1, perDay: 100 });
    caller.ask();
    expect(caller.wait(-10 * day).ask().shown.resetAfterSeconds).toBe(60);
    expect(caller.wait(minute).ask().outcome).toBe("admitted");
  });

  it("keeps a caller banned for no longer than the ban", () => {
    const caller = new Caller();
    caller.getBanned();
    expect(caller.wait(-10 * day).ask().shown.resetAfterSeconds).toBe(120);
    expect(caller.wait(2 * minute).ask().outcome).toBe("admitted");
  });
});

describe("what a caller is told of its limits", () => {
  const left = ({ minute: { remaining }, day, strikes }: Limits) => [remaining, day.remaining, strikes.remaining];

  it.each<[title: string, ask: (caller: Caller) => unknown, left: readonly number[], outcome: string]>([
    ["at first", () => undefined, [60, 1_000, 60], "admitted"],
    ["after some requests", (caller) => caller.askTimes(3), [57, 997, 60], "admitted"],
    ["when a window is used up", (caller) => caller.askTimes(63), [0, 940, 57], "refused"],
    ["when the minute is over", (caller) => caller.wait(caller.askTimes(63) && minute), [60, 940, 60], "admitted"],
    ["during a ban", (caller) => caller.askTimes(120), [0, 940, 60], "banned"],
    ["late in a ban", (caller) => caller.wait(caller.askTimes(120) && 1.5 * minute), [60, 940, 60], "banned"],
    ["after an unban", (caller) => caller.askTimes(120) && caller.unban(), [0, 940, 60], "refused"],
  ])("is right %s, and costs nothing", (_title, ask, expected, outcome) => {
    const caller = new Caller();
    ask(caller);
    const { usage } = caller;
    const told = caller.tell();
    expect(left(told)).toEqual(expected);
    expect(told.decision.outcome).toBe(outcome);
    expect(caller.usage).toEqual(usage);
  });

  it("names the ban that is in force, and none that has ended", () => {
    const caller = new Caller();
    caller.askTimes(120);
    expect(caller.tell().ban).toEqual({ step: 1, endsAtMs: start + 2 * minute });
    expect(caller.wait(2 * minute).tell().ban).toBeUndefined();
  });

  it("agrees with what the next refused request is told", () => {
    const caller = new Caller();
    caller.askTimes(70);
    const { decision } = caller.tell();
    expect(caller.ask()).toMatchObject(decision);
  });
});

function askTimes(times: number, nowMs: number, window?: Window) {
  let decision = decideAnonymous(window, nowMs);
  for (let n = 1; n < times; n += 1) {
    decision = decideAnonymous(decision.window, nowMs);
  }
  return decision;
}

describe("a request without a valid key", () => {
  it("is counted by a minute of its address", () => {
    const shown = {
      name: "minute",
      lengthSeconds: 60,
      limit: 300,
      remaining: 299,
      resetAtMs: start + 60_000,
      resetAtSeconds: 1_700_000_061,
      resetAfterSeconds: 60,
    };
    expect(askTimes(1, start)).toEqual({
      outcome: "admitted",
      window: { openedAtMs: start, count: 1 },
      shown,
      windows: [shown],
    });
  });

  it("is refused beyond 300 in a minute, and charged no more", () => {
    expect(askTimes(300, start).outcome).toBe("admitted");
    expect(askTimes(1_000, start)).toMatchObject({
      outcome: "refused",
      window: { count: 300 },
      shown: { limit: 300, remaining: 0, resetAfterSeconds: 60 },
    });
  });

  it("is admitted again after Retry-After", () => {
    const { window, shown } = decideAnonymous(askTimes(300, start).window, start + 1_001);
    expect(shown.resetAfterSeconds).toBe(59);
    expect(decideAnonymous(window, start + 1_001 + 59_000).outcome).toBe("admitted");
    expect(decideAnonymous(window, start + 59_999).outcome).toBe("refused");
  });
});

describe("the quota of a key", () => {
  const key = newKey({ id: "key_1", name: "", plan: "free", createdAtMs: 0 });

  it.each([
    ["free", undefined, { perMinute: 60, perDay: 1_000 }],
    ["pro", undefined, { perMinute: 300, perDay: 10_000 }],
    ["business", undefined, { perMinute: 1_000, perDay: 100_000 }],
    ["enterprise", { perMinute: 5, perDay: 3 }, { perMinute: 5, perDay: 3 }],
    ["free", { perMinute: 5, perDay: 3 }, { perMinute: 60, perDay: 1_000 }],
  ] as const)("of the plan %s that was given %j is %j", (plan, customQuota, expected) => {
    expect(quotaOf({ ...key, plan, customQuota })).toEqual(expected);
  });

  it("of the enterprise plan has to be agreed", () => {
    expect(() => quotaOf({ ...key, plan: "enterprise" })).toThrow("key_1");
  });
});
