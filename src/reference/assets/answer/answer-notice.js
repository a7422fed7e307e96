import { parseMembers } from "../text.js";
import { writeMoment, writeWait } from "../wait.js";

/** What to do about a refused key on this page, which the message of the service does not know. */
const keyAdvice = {
  API_KEY_MISSING: "Enter your API key at the top of the page.",
  API_KEY_INVALID: "The service does not know this key. Forget it at the top of the page, and enter another.",
  API_KEY_EXPIRED: "This key has expired. Forget it at the top of the page, and enter another.",
  API_KEY_REVOKED: "This key has been revoked. Forget it at the top of the page, and enter another.",
};

/**
 * Explains a failed answer, and what to do about it. Undefined for a success, and for an answer that is not the API's.
 * `waitSeconds` is set when the answer says how long to wait.
 */
export function describeAnswer({ status, headers, text }) {
  const { code, message } = failureOf(text);
  if (status < 400 || code === undefined) {
    return undefined;
  }
  const waitSeconds = Number.parseInt(headers["retry-after"], 10);
  return status === 429 && waitSeconds >= 0
    ? describeRefusal({ code, headers, waitSeconds })
    : describeFailure(code, message);
}

function failureOf(text) {
  const { code, message } = parseMembers(text);
  return /^[A-Z_]+$/.test(code) ? { code, message: String(message) } : {};
}

function describeFailure(code, message) {
  const text = Object.hasOwn(keyAdvice, code) ? keyAdvice[code] : message;
  return { title: code, text, facts: [], href: `#${code}`, linkText: `More about ${code}` };
}

function describeRefusal({ code, headers, waitSeconds }) {
  const isBanned = code === "API_KEY_BANNED";
  const wait = `${writeWait(waitSeconds)}, until ${writeMoment(waitSeconds)}`;
  return {
    title: isBanned ? "This key is banned for a while" : "The rate limit is exceeded",
    text: isBanned
      ? `It went on after its limit was exceeded. Send nothing for ${wait}.`
      : `${usedUp(headers)} used up. Wait ${wait}. The key is not banned, and this request was not charged.`,
    facts: [
      ["Limit", headers["x-ratelimit-limit"]],
      ["Remaining", headers["x-ratelimit-remaining"]],
      ["Retry-After", `${waitSeconds} s`],
      ["Banned", isBanned ? "yes" : "no"],
    ],
    waitSeconds,
    href: isBanned ? "#plans-and-limits-bans" : "#plans-and-limits-a-429-worked-through",
    linkText: isBanned ? "How bans work" : "A 429, worked through",
  };
}

/** The window that refuses: among the exhausted windows of `RateLimit`, the one that resets last. */
function usedUp(headers) {
  const windows = [...(headers.ratelimit ?? "").matchAll(/"(\w+)";r=0;t=(\d+)/g)];
  const [, window = "window"] = windows.sort(([, , a], [, , b]) => Number(b) - Number(a))[0] ?? [];
  const limit = headers["x-ratelimit-limit"];
  return limit === "1" ? `The one request of this ${window} is` : `All ${limit} requests of this ${window} are`;
}
