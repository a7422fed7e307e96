import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { describeAnswer } from "../../../src/reference/assets/answer/answer-notice.js";
import { writeMoment, writeWait } from "../../../src/reference/assets/wait.js";

/** An answer as the page receives it. */
interface Shown {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

beforeEach(() => vi.useFakeTimers({ now: new Date(2026, 0, 1, 12, 0, 0) }));
afterEach(() => vi.useRealTimers());

const failure = (code: unknown, status: number, headers = {}): Shown => ({
  status,
  headers,
  text: JSON.stringify({ code, message: "no", status }),
});

describe("what the page says of an answer", () => {
  it.each<[title: string, answer: Shown]>([
    ["that succeeded", { status: 200, headers: {}, text: "[]" }],
    ["that is no JSON", { status: 502, headers: {}, text: "<h1>Bad gateway</h1>" }],
    ["that is null", { status: 502, headers: {}, text: "null" }],
    ["whose code is no text", failure(5, 500)],
    ["whose code is none of ours", failure('"><img src=x>', 500)],
  ])("is absent for one %s", (_title, answer) => {
    expect(describeAnswer(answer)).toBeUndefined();
  });

  it.each([
    ["API_KEY_MISSING", 401, "Enter your API key at the top of the page."],
    [
      "API_KEY_INVALID",
      401,
      "The service does not know this key. Forget it at the top of the page, and enter another.",
    ],
    ["API_KEY_REVOKED", 401, "This key has been revoked. Forget it at the top of the page, and enter another."],
    ["PET_NOT_FOUND", 404, "no"],
    ["RATE_LIMIT_EXCEEDED", 429, "no"],
  ])("links %s without a wait to the code", (code, status, text) => {
    expect(describeAnswer(failure(code, status))).toMatchObject({ title: code, text, href: `#${code}` });
  });

  it.each([
    [
      "60",
      '"minute";r=0;t=18, "day";r=940;t=86358',
      "18",
      /^All 60 requests of this minute are used up\. Wait 18 seconds, /,
    ],
    [
      "60",
      '"minute";r=0;t=18, "day";r=0;t=7300',
      "7300",
      /^All 60 requests of this day are used up\. Wait 2 hours 1 minute, /,
    ],
    ["1", '"minute";r=0;t=18, "day";r=9;t=7300', "18", /^The one request of this minute is used up\./],
    ["10", '"minute";r=10;t=60, "day";r=0;t=9', "9", /^All 10 requests of this day are used up\./],
    ["10", "", "9", /^All 10 requests of this window are used up\./],
  ])("names the window that refuses: %s, %s", (limit, ratelimit, wait, text) => {
    const headers = { "x-ratelimit-limit": limit, ratelimit, "retry-after": wait };
    expect(describeAnswer(failure("RATE_LIMIT_EXCEEDED", 429, headers))?.text).toMatch(text);
  });

  it("tells a ban from a used-up window", () => {
    expect(describeAnswer(failure("API_KEY_BANNED", 429, { "retry-after": "120" }))).toMatchObject({
      title: "This key is banned for a while",
      text: expect.stringMatching(/^It went on after its limit was exceeded\. Send nothing for 2 minutes, /),
      waitSeconds: 120,
    });
  });
});

describe("a wait", () => {
  it.each([
    [0, "0 seconds"],
    [1, "1 second"],
    [119, "119 seconds"],
    [120, "2 minutes"],
    [121, "2 minutes 1 second"],
    [7_199, "119 minutes 59 seconds"],
    [7_260, "2 hours 1 minute"],
    [86_400, "24 hours"],
  ])("of %d s is %s", (seconds, text) => {
    expect(writeWait(seconds)).toBe(text);
  });

  it("ends on a day that is named, where it is another one", () => {
    expect(writeMoment(60)).not.toContain("2026");
    expect(writeMoment(86_400)).toContain("2026");
  });
});
